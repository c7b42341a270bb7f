// What the theme leaves out for who does not use a mouse.
addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.ariaLevel = 2;
  for (const part of document.querySelectorAll("pre, .table-wrapper")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0; // arrow keys scroll it
  }
});
