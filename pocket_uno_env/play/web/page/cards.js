/* Cards as drawings: every colour has a shape of its own, so that nothing depends on seeing hues. */
"use strict";
window.Pocket = window.Pocket || {};
(function (Pocket) {
  const COLORS = { R: "red", B: "blue", G: "green", Y: "yellow" };
  const HUES = { R: "#d0432f", B: "#0072b2", G: "#00926a", Y: "#f0c419" };
  const SHAPE_NAMES = { R: "diamond", B: "disc", G: "triangle", Y: "star" };
  const INK = "#1d2433", PAPER = "#fffdf6";
  const CARD = /^(?:[RBGY](?:[0-9]|\+1|\+2|S|V)|W|WD|W\+2|W\+4|back)$/;
  const WORDS = {
    S: "skip", V: "reverse", "+1": "draw one", "+2": "draw two",
    W: "wild", WD: "wild dip into the deck", "W+2": "wild draw two", "W+4": "wild draw four",
  };

  function isWild(card) { return card[0] === "W"; }

  /* What a card is called aloud. */
  function spoken(card) {
    if (card === "back") return "a card face down";
    if (isWild(card)) return WORDS[card];
    const symbol = card.slice(1);
    return COLORS[card[0]] + " " + (WORDS[symbol] || symbol);
  }

  function shape(color, x, y, size, fill, extra) {
    const more = extra || "";
    if (color === "B") return `<circle cx="${x}" cy="${y}" r="${size * 0.9}" fill="${fill}" ${more}/>`;
    const corners = {
      R: [[0, -1], [0.8, 0], [0, 1], [-0.8, 0]],
      G: [[0, -0.95], [1, 0.8], [-1, 0.8]],
      Y: Array.from({ length: 10 }, (_, i) => {
        const r = i % 2 ? 0.48 : 1.05, a = (i * Math.PI) / 5;
        return [Math.sin(a) * r, -Math.cos(a) * r];
      }),
    }[color];
    const points = corners.map(([px, py]) => `${(x + px * size).toFixed(1)},${(y + py * size).toFixed(1)}`);
    return `<polygon points="${points.join(" ")}" fill="${fill}" ${more}/>`;
  }

  function symbol(label, x, y, size, ink) {
    const w = size / 4.5;
    if (label === "S") { // a hop over somebody
      return `<path d="M${x - size} ${y + size * 0.1} A${size} ${size} 0 0 1 ${x + size * 0.95} ${y}"
        fill="none" stroke="${ink}" stroke-width="${w}"/>
        <circle cx="${x}" cy="${y + size * 0.5}" r="${size * 0.3}" fill="${ink}"/>
        ${head(x + size * 0.95, y + size * 0.1, size * 0.45, 90, ink)}`;
    }
    if (label === "V") { // there and back
      return [-1, 1].map((side) => {
        const dy = y + side * size * 0.42, tip = x - side * size * 0.7;
        return `<path d="M${x + side * size * 0.9} ${dy} H${tip}" stroke="${ink}" stroke-width="${w}"/>
          ${head(tip, dy, size * 0.45, side < 0 ? 0 : 180, ink)}`;
      }).join("");
    }
    if (label === "D") { // down into the deck
      return `<path d="M${x} ${y - size} V${y + size * 0.2} M${x - size * 0.8} ${y + size} H${x + size * 0.8}"
        stroke="${ink}" stroke-width="${w}"/>${head(x, y + size * 0.25, size * 0.5, 90, ink)}`;
    }
    const wide = label.length > 1; // fonts differ in width: two signs are fitted
    const fit = wide ? `textLength="${size * 2.1}" lengthAdjust="spacingAndGlyphs"` : "";
    return `<text x="${x}" y="${y}" font-size="${size * (wide ? 1.8 : 2.5)}" fill="${ink}" class="face" ${fit}>${label}</text>`;
  }

  function head(x, y, size, turn, ink) {
    return `<polygon points="${size},0 ${-size * 0.6},${-size * 0.8} ${-size * 0.6},${size * 0.8}"
      transform="translate(${x} ${y}) rotate(${turn})" fill="${ink}"/>`;
  }

  function back() {
    const small = ["R", "B", "G", "Y"].map((c, i) => shape(c, 45 + 10 * (i % 2), 56 + 10 * (i >> 1), 4, HUES[c]));
    return `<rect x="5" y="5" width="90" height="140" rx="8" fill="${INK}"/>
      <rect x="10" y="10" width="80" height="130" rx="6" fill="none" stroke="#51627d" stroke-width="1.5"/>
      <rect x="38" y="48" width="24" height="42" rx="4" fill="${PAPER}"/>${small.join("")}
      <polygon points="26,72 74,72 74,100 50,112 26,100" fill="#51627d"/>
      <path d="M30 79 H70" stroke="#8fa2bf" stroke-width="1.5"/>`;
  }

  function face(card) {
    if (card === "back") return back();
    const wild = isWild(card), label = wild ? card.slice(1) : card.slice(1);
    const hue = wild ? INK : HUES[card[0]], ink = card[0] === "Y" ? INK : PAPER;
    let out = `<rect x="5" y="5" width="90" height="140" rx="8" fill="${hue}"/>`;
    if (wild) {
      const [across, down, size] = label ? [26, 33, 11] : [20, 20, 15];
      Object.keys(COLORS).forEach((c, i) => {
        out += shape(c, 50 + across * (i % 2 ? 1 : -1), 75 + down * (i < 2 ? -1 : 1), size, HUES[c]);
      });
      if (label) out += `<circle cx="50" cy="75" r="29" fill="${PAPER}"/>` + symbol(label, 50, 75, 21, INK);
    } else {
      out += shape(card[0], 50, 76, 44, "#fff", 'opacity="0.27"') + symbol(label, 50, 75, 29, ink);
    }
    const corner = wild
      ? Object.keys(COLORS).map((c, i) => shape(c, 14 + 8 * (i % 2), 15 + 8 * (i >> 1), 4, HUES[c])).join("")
      : symbol(label, 17, 19, 8.5, ink) + shape(card[0], 17, 36, 6, ink);
    return `${out}<g>${corner}</g><g transform="rotate(180 50 75)">${corner}</g>`;
  }

  function draw(inner, box, label) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", box);
    if (label) { svg.setAttribute("role", "img"); svg.setAttribute("aria-label", label); }
    else svg.setAttribute("aria-hidden", "true");
    svg.innerHTML = inner; // of shapes and numbers alone
    return svg;
  }

  /* A card as an SVG element; what is no card is drawn face down. */
  function cardArt(card, hidden) {
    const known = CARD.test(card) ? card : "back";
    const svg = draw(`<rect x="0.5" y="0.5" width="99" height="149" rx="11" fill="${PAPER}"
      stroke="#0003"/>${face(known)}`, "0 0 100 150", hidden ? "" : spoken(known));
    svg.classList.add("card-art");
    return svg;
  }

  /* The shape of a colour. */
  function colorArt(color, fill) {
    const svg = draw(shape(color, 12, 12, 10, fill || HUES[color], `stroke="${PAPER}" stroke-width="1"`), "0 0 24 24", "");
    svg.classList.add("color-art");
    return svg;
  }

  /* An element with properties, attributes and children; texts are never markup. */
  function el(tag, props, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "class") element.className = value;
      else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key in element && key !== "list" && key !== "form") element[key] = value;
      else element.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) element.append(child);
    }
    return element;
  }

  /* Shows a form anew; whoever was in one of its fields stays there. */
  function redraw(root, element) {
    const { id } = document.activeElement || {};
    root.replaceChildren(element);
    if (id && document.getElementById(id)) document.getElementById(id).focus({ preventScroll: true });
  }

  /* A sentence with its card names as little cards. */
  function withCards(text) {
    const parts = text.split(/(\s+)/).map((word) => {
      const match = /^((?:[RBGY](?:\d|\+1|\+2|S|V))|W|WD|W\+2|W\+4)([.!,]?)$/.exec(word);
      return match ? [chip(match[1]), match[2]] : [word];
    });
    return parts.flat();
  }

  function chip(card) {
    const wild = isWild(card);
    const inner = wild ? [card] : [card.slice(1)];
    const element = el("span", { class: `chip chip-${card[0]}`, title: spoken(card) });
    if (!wild) element.append(colorArt(card[0], card[0] === "Y" ? INK : PAPER));
    element.append(...inner, el("span", { class: "unseen" }, ` (${spoken(card)})`));
    return element;
  }

  Object.assign(Pocket, { COLORS, HUES, SHAPE_NAMES, spoken, isWild, draw, cardArt, colorArt, el, redraw, withCards, chip });
})(window.Pocket);
