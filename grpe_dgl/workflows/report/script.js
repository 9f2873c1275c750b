"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (words, x, y) => {
    tip.textContent = words;
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + box.height + 20 > innerHeight ? y - box.height - 10 : y + 14) + "px";
  };
  const hide = () => { tip.style.display = "none"; document.getElementById("mark")?.remove(); };
  const mark = (svg, point) => {
    document.getElementById("mark")?.remove();
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    ring.id = "mark";
    ring.setAttribute("cx", point[0]);
    ring.setAttribute("cy", point[1]);
    ring.setAttribute("r", 5.5);
    svg.append(ring);
  };

  for (const svg of document.querySelectorAll("svg[data-tips]")) {
    const points = JSON.parse(svg.dataset.tips);
    let current = -1;
    const select = (index) => {
      current = index;
      const matrix = svg.getScreenCTM();
      mark(svg, points[index]);
      show(points[index][2], points[index][0] * matrix.a + matrix.e, points[index][1] * matrix.d + matrix.f);
    };
    svg.addEventListener("pointermove", (event) => {
      const matrix = svg.getScreenCTM();
      const x = (event.clientX - matrix.e) / matrix.a, y = (event.clientY - matrix.f) / matrix.d;
      let best = -1, nearest = 40 * 40;
      points.forEach((point, index) => {
        const distance = (point[0] - x) ** 2 + (point[1] - y) ** 2;
        if (distance < nearest) { nearest = distance; best = index; }
      });
      if (best < 0) hide(); else select(best);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      select((current + step + points.length) % points.length);
    });
  }

  for (const section of document.querySelectorAll(".attention")) {
    const input = section.querySelector("input"), output = section.querySelector("output");
    const update = () => {
      output.textContent = "layer " + input.value + " of " + input.max;
      for (const image of section.querySelectorAll("img")) {
        image.classList.toggle("shown", image.dataset.layer === input.value);
      }
      hide();
    };
    input.addEventListener("input", update);
    update();
    for (const map of section.querySelectorAll(".map")) {
      const names = JSON.parse(map.dataset.names), weights = JSON.parse(map.dataset.weights), n = names.length;
      const frame = map.querySelector(".frame");
      frame.addEventListener("pointermove", (event) => {
        const box = frame.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left) / box.width * n);
        const row = Math.floor((event.clientY - box.top) / box.height * n);
        if (row < 0 || column < 0 || row >= n || column >= n) { hide(); return; }
        const weight = weights[input.value - 1][row * n + column] / 1000;
        show(names[row] + " attends to " + names[column] + ": " + weight.toFixed(3), event.clientX, event.clientY);
      });
      frame.addEventListener("pointerleave", hide);
    }
  }
})();
