// Before anything is drawn, so that no page flashes in the wrong colours.
(() => {
  "use strict";
  try {
    const chosen = localStorage.getItem("surefit-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing for files: the system's choice holds.
  }
})();
