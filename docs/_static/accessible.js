// What the theme leaves out: the captions of its menu have a level of heading, its sidebars have names, and what scrolls is reached by keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('p.caption[role="heading"]')) caption.setAttribute("aria-level", "2");
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "This page");
  for (const wide of document.querySelectorAll(".table-wrapper, .highlight pre")) wide.tabIndex = 0;
});
