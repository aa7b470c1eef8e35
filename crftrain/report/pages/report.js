"use strict";
// The list of sentences: unpacked, filtered and drawn only when it is looked at. Text from the data becomes text, never HTML.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const ALPHABET = Array.from({length: 94}, (_, k) => String.fromCharCode(33 + k)).filter(c => !"\"\\<>&".includes(c));
  const VALUE = new Int16Array(128);
  ALPHABET.forEach((c, k) => { VALUE[c.charCodeAt(0)] = k; });
  const BASE = ALPHABET.length, PAGE = 25;
  const L = D.list, byId = id => document.getElementById(id);

  // ---- unpacking
  const texts = L.text.split("\n"), n = texts.length;
  const first = new Int32Array(n + 1), line = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    let words = 1;
    for (let k = texts[i].indexOf(" "); k >= 0; k = texts[i].indexOf(" ", k + 1)) words++;
    first[i + 1] = first[i] + words;
    line[i] = (i ? line[i - 1] : 0) + L.lines[i];
  }
  const at = (packed, t) => {
    let value = 0;
    for (let k = t * L.width; k < (t + 1) * L.width; k++) value = value * BASE + VALUE[packed.charCodeAt(k)];
    return value;
  };
  const label = code => code >> 1, begins = code => code & 1;
  const sure = t => (VALUE[L.sure.charCodeAt(t)] + 0.5) / BASE;
  const typeOf = code => L.types[1][label(code)];
  const fileOf = i => { let name = ""; for (const [start, file] of L.files) if (start <= i) name = file; return name; };

  // ---- what sentences can be asked for
  const least = new Float32Array(n), wrong = new Uint16Array(n), wrongOther = new Uint16Array(n), kinds = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    let lowest = 200;
    for (let t = first[i]; t < first[i + 1]; t++) {
      lowest = Math.min(lowest, L.sure.charCodeAt(t));
      const gold = label(at(L.gold, t));
      wrong[i] += gold === 0 || gold !== label(at(L.predicted, t));
      if (L.other) wrongOther[i] += gold === 0 || gold !== label(at(L.other, t));
    }
    least[i] = lowest === 200 ? 1 : (VALUE[lowest] + 0.5) / BASE;
  }
  for (let k = 0; k < L.mistakes.length; k += 2) kinds[L.mistakes[k]] |= 1 << L.mistakes[k + 1];
  let lower = null;

  const hasLabel = (i, wanted) => {
    for (let t = first[i]; t < first[i + 1]; t++) {
      const g = at(L.gold, t), p = at(L.predicted, t);
      if (L.chunked ? typeOf(g) === wanted || typeOf(p) === wanted : label(g) === wanted || label(p) === wanted) return true;
    }
    return false;
  };
  // the chunk of the wanted type, or the token with the label, is itself in error
  const isWrongLabel = (i, wanted) => {
    if (!wrong[i]) return false;
    for (let t = first[i]; t < first[i + 1]; t++) {
      const g = at(L.gold, t), p = at(L.predicted, t);
      if (g === p) continue;
      if (L.chunked ? typeOf(g) === wanted || typeOf(p) === wanted : label(g) === wanted || label(p) === wanted) return true;
    }
    return false;
  };
  const KIND = {
    all: () => true, wrong: i => wrong[i] > 0, right: i => wrong[i] === 0,
    mended: i => wrong[i] > wrongOther[i], broken: i => wrong[i] < wrongOther[i],
  };

  const form = byId("filter");
  let found = [], page = 0;

  const select = () => {
    const kind = form.kind.value, wanted = form.label.value === "" ? -1 : +form.label.value, below = +form.below.value;
    const text = form.text.value.trim().toLowerCase();
    if (text && !lower) lower = texts.map(one => one.toLowerCase());
    const mask = kind.startsWith("k") ? 1 << +kind.slice(1) : 0, test = mask ? i => (kinds[i] & mask) !== 0 : KIND[kind];
    const ofLabel = kind === "all" || kind === "right" ? hasLabel : isWrongLabel;
    found = [];
    for (let i = 0; i < n; i++) {
      if (test(i) && least[i] <= below && (!text || lower[i].includes(text)) && (wanted < 0 || ofLabel(i, wanted))) found.push(i);
    }
    if (form.order.value === "unsure") found.sort((a, b) => least[a] - least[b]);
    if (form.order.value === "worst") found.sort((a, b) => wrong[b] - wrong[a] || least[a] - least[b]);
    page = 0;
    draw();
  };

  // ---- drawing
  const make = (name, options = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(options)) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "class") element.className = value; else if (key === "text") element.textContent = value; else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  // a bar for each token: whether it is in a chunk, begins one, and whether that chunk is in error
  const bars = (packed, i, others) => {
    const out = [];
    let open = null;
    const span = (from, to, side) => { // the chunk at `from` of the other side is the same
      if (!begins(at(side, from)) || typeOf(at(side, from)) !== typeOf(at(packed, from))) return false;
      for (let t = from + 1; t < to; t++) if (begins(at(side, t)) || typeOf(at(side, t)) < 0) return false;
      return to >= first[i + 1] || begins(at(side, to)) === 1 || typeOf(at(side, to)) < 0;
    };
    for (let t = first[i]; t < first[i + 1]; t++) {
      const code = at(packed, t), type = typeOf(code);
      if (!L.chunked) {
        const g = label(at(L.gold, t)), off = label(code) !== g || g === 0;
        const different = label(at(L.gold, t)) !== label(at(L.predicted, t)) || (L.other && label(at(L.other, t)) !== g);
        out.push({in: different, first: true, off: off || (packed === L.gold && different), text: L.labels[label(code)], type: label(code)});
        continue;
      }
      if (type < 0) { open = null; out.push(null); continue; }
      if (begins(code) || !open) {
        let end = t + 1;
        while (end < first[i + 1] && !begins(at(packed, end)) && typeOf(at(packed, end)) >= 0) end++;
        open = {in: true, off: !others.every(side => span(t, end, side)), text: L.types[0][type] || "chunk", type};
        out.push({...open, first: true});
      } else out.push({...open, first: false});
    }
    return out;
  };

  const bar = (one, row) => {
    if (!one) return make("span", {class: `b ${row}`});
    const classes = ["b", row, one.in && "in", one.first && "first", one.off && "off", `k${one.type % 8}`].filter(Boolean).join(" ");
    return make("span", {class: classes, text: one.first ? (one.off ? "✗" : "") + one.text : ""});
  };

  const drawSentence = i => {
    const words = texts[i].split(" "), sides = [bars(L.gold, i, L.other ? [L.predicted, L.other] : [L.predicted]), bars(L.predicted, i, [L.gold])];
    if (L.other) sides.push(bars(L.other, i, [L.gold]));
    const tokens = make("div", {class: "tokens", role: "group", "aria-label": `Sentence at line ${line[i]}`});
    words.forEach((word, k) => {
      const t = first[i] + k, gold = L.labels[label(at(L.gold, t))], mine = L.labels[label(at(L.predicted, t))];
      const told = `${word}, gold ${gold}, predicted ${mine}` + (L.other ? `, second model ${L.labels[label(at(L.other, t))]}` : "");
      const button = make("button", {type: "button", "data-t": t, "aria-expanded": "false", tabindex: k ? -1 : 0, class: gold === mine ? null : "bad",
        "aria-label": told + (gold === mine ? "" : ", wrong"), title: told},
        make("span", {class: "w", text: word}), ...sides.map((side, row) => bar(side[k], row ? "p" : "g")));
      tokens.append(button);
    });
    const many = wrong[i] ? `${wrong[i]} of ${words.length} tokens wrong` : "right";
    const place = make("div", {class: "place"}, make("span", {class: "code", text: `${fileOf(i)}:${line[i]}`}),
      make("span", {text: many + (L.other ? `; second model: ${wrongOther[i] || "none"} wrong` : "")}),
      make("span", {text: `least sure token ${Math.round(100 * least[i])} %`}));
    return make("li", {"data-i": i}, place, tokens);
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    byId("sentences-list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map(drawSentence));
    byId("found").textContent = `${found.length.toLocaleString("en")} of ${n.toLocaleString("en")} sentences` +
      (found.length ? `, page ${page + 1} of ${pages}` : "");
    for (const button of document.querySelectorAll(".pager button")) {
      button.disabled = button.dataset.step < 0 ? page === 0 : page >= pages - 1;
    }
  };

  // ---- explanations
  const signed = x => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);
  const share = (x, name, detail = "") => make("tr", {}, make("td", {class: "n " + (x < 0 ? "against" : "for"), text: signed(x)}),
    make("td", {class: "name", text: name}), make("td", {text: detail}));

  const reason = (i, t) => {
    const k = t - first[i], words = texts[i].split(" "), mine = L.labels[label(at(L.predicted, t))], gold = L.labels[label(at(L.gold, t))];
    const box = make("div", {class: "reason", role: "group", "aria-label": `Explanation of ${words[k]}`, tabindex: -1});
    const head = `“${words[k]}” is labelled ${mine} with probability ${sure(t).toFixed(2)}` + (gold === mine ? "." : `; gold is ${gold}.`);
    box.append(make("p", {text: head}));
    const kept = D.reasons.of[t];
    if (!kept) {
      box.append(make("p", {text: "Its reasons are not kept in this page; this command tells them:"}),
        make("pre", {text: `${D.command} --line ${L.apart[i] ? L.apart[i][k] : line[i] + k} ${D.model} ${fileOf(i)}`}));
      return box;
    }
    const [against, margin, transitions, pairs, others, rest, more, shown, unknown, changed] = kept, other = D.labels[against];
    box.append(make("p", {text: `The best labelling with ${mine} here leads the best with ${other} by ${margin.toFixed(3)}, which is the sum of:`}));
    const rows = make("tbody");
    for (const [name, a, b, without] of shown) {
      rows.append(share(a - b, D.reasons.names[name], `${mine} ${signed(a)}, ${other} ${signed(b)}` +
        (without === undefined ? "" : `; without it ${D.labels[without]}`)));
    }
    if (more) rows.append(share(rest, `${more} more attributes`));
    rows.append(share(transitions, "transitions"));
    if (pairs) rows.append(share(pairs, "attributes of label pairs"));
    if (changed.length) rows.append(share(others, "other tokens", changed.map(([at, a, b]) => `${words[at]} ${D.labels[a]}, not ${D.labels[b]}`).join("; ")));
    box.append(make("div", {class: "wide", tabindex: 0, role: "group", "aria-label": "Parts of the margin"}, make("table", {},
      make("thead", {}, make("tr", {}, make("th", {scope: "col", class: "n", text: "share"}), make("th", {scope: "col", text: "what"}), make("th", {scope: "col", text: "weights"}))), rows)));
    if (unknown.length) box.append(make("p", {text: "Never seen in training: " + unknown.map(name => D.reasons.names[name]).join("  ")}));
    return box;
  };

  const toggle = button => {
    const item = button.closest("li"), old = item.querySelector(".reason"), open = button.getAttribute("aria-expanded") === "true";
    if (old) old.remove();
    for (const other of item.querySelectorAll("button[aria-expanded=true]")) other.setAttribute("aria-expanded", "false");
    if (open) return;
    button.setAttribute("aria-expanded", "true");
    const box = reason(+item.dataset.i, +button.dataset.t);
    item.append(box);
    byId("heard").textContent = box.textContent;
  };

  const list = byId("sentences-list");
  list.addEventListener("click", event => { const button = event.target.closest("button"); if (button) toggle(button); });
  list.addEventListener("keydown", event => { // arrows walk through a sentence, which is one stop for the tabulator
    const button = event.target.closest(".tokens button"), step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (button && event.key === "Escape" && button.getAttribute("aria-expanded") === "true") toggle(button);
    if (!button || !step) return;
    const next = step > 0 ? button.nextElementSibling : button.previousElementSibling;
    if (next) { button.tabIndex = -1; next.tabIndex = 0; next.focus(); }
    event.preventDefault();
  });
  for (const button of document.querySelectorAll(".pager button")) {
    button.addEventListener("click", () => { page += +button.dataset.step; draw(); byId("sentences-title").scrollIntoView(); });
  }
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(select, 80); });
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(select));
  for (const link of document.querySelectorAll("a[data-kind]")) { // errors by kind lead to their sentences
    link.addEventListener("click", () => { form.kind.value = link.dataset.kind; select(); });
  }

  // drawn when it comes near, or at once where it is asked for
  const show = () => { if (watch) { watch.disconnect(); watch = null; select(); } };
  let watch = new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && show(), {rootMargin: "400px"});
  watch.observe(byId("sentences-title"));
  window.crftrainReport = {select: () => { show(); select(); }, get found() { return found.length; }, get total() { return n; }};
  addEventListener("beforeprint", show);
})();
