/** The page: a text, the settings of the search, and a pane for each model. */

/** @import { Models } from "./types.js" */

import { ask, Refusal } from "./api.js";
import { byId } from "./dom.js";
import { Pane } from "./pane.js";
import { download, snapshot } from "./save.js";
import { controls, settingsOf } from "./settings.js";

const status = byId("status");
const text = /** @type {HTMLTextAreaElement} */ (byId("text"));

/**
 * Say something to the reader; what the page shows elsewhere is only heard.
 * @param {string} said
 * @param {"seen" | "heard" | "refusal"} [kind]
 */
function say(said, kind = "seen") {
  status.textContent = said;
  status.className = kind;
}

let waiting = Promise.resolve();

/**
 * Do one thing after the other; a refusal is shown.
 * @param {() => Promise<void>} doing
 * @returns {Promise<void>}
 */
function guard(doing) {
  waiting = waiting.then(async () => {
    document.body.setAttribute("aria-busy", "true");
    try {
      await doing();
      if (status.classList.contains("refusal")) say("");
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      say(error instanceof Refusal ? error.message : "The page has failed at this. Reload it.", "refusal");
    } finally {
      document.body.removeAttribute("aria-busy");
    }
  });
  return waiting;
}

async function start() {
  /** @type {Models} */
  const { text: first, models } = await ask("models", {});
  const settings = settingsOf(models[0].search);
  const panes = models.map((model, number) => new Pane(number, model, settings, guard, say));
  byId("panes").replaceChildren(...panes.map(({ element }) => element));
  document.body.classList.toggle("several", panes.length > 1);
  document.title = `${models.map(({ name }) => name).join(" and ")}: change a decision`;

  const read = () => guard(async () => {
    for (const pane of panes) await pane.read(text.value);
    say("");
  });
  const search = () => guard(async () => {
    for (const pane of panes) if (pane.text) await pane.decode();
  });
  controls(byId("settings"), settings, () => panes.forEach((pane) => pane.rerank()), search);
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    read();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      read();
    }
  });
  byId("save").addEventListener("click", () => guard(async () => {
    download("dragoman.html", await snapshot(), "text/html");
    say("Saved dragoman.html");
  }));
  text.value = first;
  if (first) read();
  else text.focus();
}

guard(start);
