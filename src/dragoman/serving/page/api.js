/** Requests to the server of the page. */

/** What the models refuse, with what to do about it. */
export class Refusal extends Error {}

/**
 * Ask for an action; the address of the page holds the token of the server.
 * @param {string} action
 * @param {unknown} data
 * @returns {Promise<any>}
 */
export async function ask(action, data) {
  const body = JSON.stringify(data);
  const headers = { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(`api/${action}`, { method: "POST", headers, body });
  } catch {
    throw new Refusal("The server does not answer. Start dragoman show … --open again, and open its new address.");
  }
  if (response.headers.get("Content-Type") !== "application/json") {
    throw new Refusal(`The server refused the request (${response.status}). Open its new address.`);
  }
  const answer = await response.json();
  if (answer.error) {
    const { what, expected, hint } = answer.error;
    throw new Refusal([what, expected && `Expected: ${expected}.`, hint].filter(Boolean).join(" "));
  }
  return answer;
}
