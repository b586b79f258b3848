/* Starts the film that lies in the page. */
"use strict";
(function (Pocket) {
  const film = JSON.parse(document.getElementById("film").textContent);
  const key = Pocket.replay(document.getElementById("main"), film);
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("select, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key(event.key)) event.preventDefault();
  });
})(window.Pocket);
