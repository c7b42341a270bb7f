/** Elements. Text is only ever set as text, so that no token can be markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {Element} element
 * @param {Record<string, string | number | boolean | EventListener>} attributes functions are listeners;
 *   false leaves an attribute out
 * @param {(Node | string)[]} children strings become text
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, string | number | boolean | EventListener>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

/**
 * @param {string} name
 * @param {Record<string, string | number | boolean | EventListener>} [attributes]
 * @param {...(Node | string)} children
 * @returns {Element}
 */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  fill(element, attributes, children);
  return element;
}

/**
 * A button; it cannot submit a form.
 * @param {string} text
 * @param {() => void} act
 * @param {Record<string, string | number | boolean>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function button(text, act, attributes = {}) {
  return html("button", { type: "button", click: () => act(), ...attributes }, text);
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

/**
 * A token within a text of another direction keeps its own.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function isolated(text) {
  return html("bdi", {}, text);
}

/**
 * A probability in few digits: 97 %, 1.2 %, < 0.1 %
 * @param {number} p
 * @returns {string}
 */
export function percent(p) {
  if (p > 0 && p < 0.001) return "< 0.1 %";
  return `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)} %`;
}

/**
 * A number with three decimals and a real minus; very small ones keep their first two digits.
 * @param {number} value
 * @returns {string}
 */
export function decimal(value) {
  const text = Math.abs(value) >= 0.0005 || value === 0 ? value.toFixed(3) : value.toExponential(1);
  return text.replaceAll("-", "−");
}

/**
 * Let the arrow keys move between the buttons of a row, which is one stop of the Tab key.
 * @param {HTMLElement} row
 * @param {number} current the button that the Tab key reaches
 */
export function roving(row, current) {
  const buttons = () => [...row.querySelectorAll("button")];
  buttons().forEach((one, place) => one.setAttribute("tabindex", place === current ? "0" : "-1"));
  row.addEventListener("keydown", (event) => {
    const all = buttons();
    const place = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const ahead = getComputedStyle(row).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = ahead === "ArrowRight" ? "ArrowLeft" : "ArrowRight";
    /** @type {Record<string, number>} */
    const places = { [ahead]: place + 1, [back]: place - 1, Home: 0, End: all.length - 1 };
    const next = all[places[event.key] ?? -1];
    if (place < 0 || !next) return;
    event.preventDefault();
    all.forEach((one) => one.setAttribute("tabindex", one === next ? "0" : "-1"));
    next.focus();
  });
}
