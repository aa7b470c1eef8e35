"use strict";
// Curves tell what is under the pointer, or under the arrow keys; tables sort by the column that is asked for; print is unfolded.
(() => {
  for (const chart of document.querySelectorAll("svg.chart")) {
    const points = [...chart.querySelectorAll("circle.point")], out = document.createElement("output");
    if (!points.length) continue;
    out.className = "told";
    out.textContent = "Move over a curve, or walk along it with the arrow keys.";
    chart.after(out);
    chart.tabIndex = 0;
    const places = points.map(point => [point.cx.baseVal.value, point.cy.baseVal.value]);
    let near = -1;
    const show = k => {
      if (near >= 0) points[near].classList.remove("near");
      near = k;
      points[k].classList.add("near");
      out.textContent = points[k].querySelector("title").textContent;
    };
    chart.addEventListener("pointermove", event => {
      const matrix = chart.getScreenCTM();
      if (!matrix) return;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      let best = 0, least = Infinity;
      places.forEach(([x, y], k) => { const d = (x - at.x) ** 2 + (y - at.y) ** 2; if (d < least) { least = d; best = k; } });
      show(best);
    });
    chart.addEventListener("keydown", event => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!step) return;
      show(Math.min(Math.max(near + step, 0), points.length - 1));
      event.preventDefault();
    });
  }

  // what is folded up is printed too
  let folded = [];
  addEventListener("beforeprint", () => { folded = [...document.querySelectorAll("details:not([open])")]; for (const one of folded) one.open = true; });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });

  const number = text => { const x = parseFloat(text.replace(/,/g, "").replace("−", "-")); return Number.isNaN(x) ? null : x; };
  for (const table of document.querySelectorAll("table.sorts")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending", rows = [...table.tBodies[0].rows];
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const value = row => row.cells[column].textContent.trim();
        rows.sort((a, b) => {
          const [x, y] = [number(value(a)), number(value(b))];
          if (x === null || y === null) return x === null && y === null ? value(a).localeCompare(value(b)) : (x === null ? 1 : -1) * (down ? -1 : 1);
          return x - y;
        });
        table.tBodies[0].replaceChildren(...(down ? rows.reverse() : rows));
      });
    });
  }
})();
