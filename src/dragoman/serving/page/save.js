/** Save what is seen as a file of its own, and what the models give as pictures or data. */

import { html } from "./dom.js";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'";
const CONTROLS =
  "form, #settings, #save, #status, .quiet, .files, .undo, .picker, .actions, .steps, .columns > :last-child";

/**
 * @param {string} name
 * @param {string} content
 * @param {string} type
 */
export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  html("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * The page as it is, without its controls, its scripts and the server: buttons become plain text.
 * @returns {Promise<string>}
 */
export async function snapshot() {
  const sheets = ["theme.css", "style.css"].map(async (name) => (await fetch(name)).text());
  const style = (await Promise.all(sheets)).join("\n");
  const body = /** @type {HTMLElement} */ (document.body.cloneNode(true));
  body.removeAttribute("aria-busy");
  const text = /** @type {HTMLTextAreaElement} */ (document.getElementById("text")).value;
  for (const one of body.querySelectorAll(CONTROLS)) one.remove();
  for (const one of body.querySelectorAll("button")) {
    const plain = html("span", { class: one.className });
    for (const { name, value } of one.attributes) {
      if (name.startsWith("data-") || name === "aria-current") plain.setAttribute(name, value);
    }
    plain.style.cssText = one.style.cssText;
    plain.append(...one.childNodes);
    one.replaceWith(plain);
  }
  body.querySelector("header p")?.replaceChildren(text);
  for (const one of body.querySelectorAll("details")) one.setAttribute("open", "");
  const head = html(
    "head",
    {},
    html("meta", { charset: "utf-8" }),
    html("meta", { "http-equiv": "Content-Security-Policy", content: POLICY }),
    html("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    html("meta", { name: "color-scheme", content: "light dark" }),
    html("title", {}, document.title),
    html("style", {}, style),
  );
  const root = html("html", { lang: "en", class: "saved" }, head, body);
  return `<!DOCTYPE html>\n${root.outerHTML}\n`;
}
