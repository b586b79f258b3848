/* How the chances go through a film, with all hands open: a band for each seat, as wide as its chance. */
"use strict";
(function (Pocket) {
  const { el, percent } = Pocket;
  const TITLES = { round: "this round", match: "the match" };

  /* What is shown at a position: returns show(at), which makes the element; go(at) answers a click. */
  function outlook(film, go) {
    const seats = film.players.length, last = film.frames.length - 1;
    const kinds = film.frames[0].open.match ? ["round", "match"] : ["round"];
    const shade = (seat) => `hsl(205 40% ${82 - (60 * seat) / (seats - 1)}%)`;
    const strips = kinds.map((kind) => {
      const cursor = el("span", { class: "cursor" });
      const strip = el("div", { class: "river", title: `the chances to win ${TITLES[kind]}, from the beginning to the end`,
        onclick: (e) => { const box = strip.getBoundingClientRect(); go(Math.round((last * (e.clientX - box.left)) / box.width)); } },
        bands(kind), cursor);
      return [el("div", { class: "course" }, el("small", {}, kind), strip), cursor];
    });
    return show;

    function bands(kind) {
      const below = film.frames.map(() => 1);
      const drawn = film.players.map((_, seat) => {
        const under = below.map((y, i) => `${i},${y.toFixed(4)}`);
        film.frames.forEach((frame, i) => { below[i] -= frame.open[kind][seat]; });
        const over = below.map((y, i) => `${i},${y.toFixed(4)}`);
        return `<polygon points="${[...under, ...over.reverse()].join(" ")}" fill="${shade(seat)}"/>`;
      });
      const svg = Pocket.draw(drawn.join(""), `0 0 ${Math.max(last, 1)} 1`, "");
      svg.setAttribute("preserveAspectRatio", "none");
      return svg;
    }

    function show(at) {
      const { open } = film.frames[at];
      strips.forEach(([, cursor]) => { cursor.style.left = `${(100 * at) / Math.max(last, 1)}%`; });
      return el("section", { class: "opinion" }, el("h2", {}, "Chances to win, all hands open"),
        el("table", { class: "chances" },
          el("thead", {}, el("tr", {}, el("th", {}), kinds.map((kind) => el("th", {}, TITLES[kind])))),
          el("tbody", {}, film.players.map((name, seat) => {
            const swatch = el("span", { class: "swatch" });
            swatch.style.background = shade(seat);
            return el("tr", {}, el("th", { scope: "row" }, swatch, name), kinds.map((kind) => el("td", {}, percent(open[kind][seat]))));
          }))),
        strips.map(([strip]) => strip));
    }
  }

  Object.assign(Pocket, { outlook });
})(window.Pocket);
