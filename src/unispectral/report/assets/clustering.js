(() => {
  const d = UI.data, {el, number, percent, count} = UI;
  const m = d.members, k = d.sizes.length, shownCount = m.row.length;
  const colour = UI.colour;
  const nameOf = i => m.name ? m.name[i] : "row " + number(m.row[i]);
  const listeners = [];
  let selected = null;
  function select(cluster) {
    selected = selected === cluster ? null : cluster;
    listeners.forEach(update => update());
  }
  const cluster = c => [UI.dot(c), "Cluster " + c];

  // ---- pictures of samples, where samples are pictures ---------------------------------
  let picture = () => null, faces = () => null;
  if (d.images) {
    const {height, width} = d.images, size = height * width;
    const pixels = atob(d.images.pixels), means = atob(d.images.means), gaps = atob(d.images.gaps);
    const place = new Map(d.images.of.map((i, n) => [i, n]));
    const grey = v => [v, v, v];
    const diverging = v => { const t = (v - 128) / 127, s = Math.abs(t); return t < 0 ? [240 - 40 * s, 240 - 115 * s, 238 - 218 * s] : [240 - 230 * s, 240 - 120 * s, 238 - 110 * s]; };
    const draw = (bytes, start, paint, scale, label) => {
      const canvas = el("canvas", {class: "thumb", width, height, role: "img", "aria-label": label});
      const context = canvas.getContext("2d"), image = context.createImageData(width, height);
      for (let p = 0; p < size; p++) {
        const colour = paint(bytes.charCodeAt(start + p));
        for (let c = 0; c < 3; c++) image.data[4 * p + c] = colour[c];
        image.data[4 * p + 3] = 255;
      }
      context.putImageData(image, 0, 0);
      const factor = scale / Math.max(width, height);
      canvas.style.width = width * factor + "px";
      canvas.style.height = height * factor + "px";
      return canvas;
    };
    picture = (i, scale) => place.has(i) ? draw(pixels, place.get(i) * size, grey, scale, nameOf(i)) : null;
    faces = c => el("div", {class: "faces"},
      el("figure", {}, draw(means, c * size, grey, 104, "Mean picture of cluster " + c), el("figcaption", {}, "mean picture")),
      el("figure", {}, draw(gaps, c * size, diverging, 104, "What sets cluster " + c + " apart"), el("figcaption", {}, "brighter or darker than the rest")));
  }

  // ---- the map -------------------------------------------------------------------------
  function drawMap() {
    const canvas = el("canvas", {role: "img", "aria-label": `Map of ${count(shownCount, "point")} in ${k} clusters`});
    const order = Array.from({length: shownCount}, (_, i) => i);
    for (let i = order.length - 1; i > 0; i--) {  // mixed, so that no cluster hides the others; the same each time
      const j = (i * 7919 + 104729) % (i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    let px = new Float32Array(shownCount), py = new Float32Array(shownCount), cells = new Map(), hot = -1;
    const CELL = 16;
    function layout() {
      const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      if (!box.width) return;
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
      const xs = d.plane.x, ys = d.plane.y;
      let [lx, hx, ly, hy] = [Infinity, -Infinity, Infinity, -Infinity];
      for (let i = 0; i < shownCount; i++) { lx = Math.min(lx, xs[i]); hx = Math.max(hx, xs[i]); ly = Math.min(ly, ys[i]); hy = Math.max(hy, ys[i]); }
      const pad = 22, scale = Math.min((box.width - 2 * pad) / Math.max(hx - lx, 1e-9), (box.height - 2 * pad) / Math.max(hy - ly, 1e-9));
      const ox = (box.width - (hx + lx) * scale) / 2, oy = (box.height + (hy + ly) * scale) / 2;
      cells = new Map();
      for (let i = 0; i < shownCount; i++) {
        px[i] = ox + xs[i] * scale;
        py[i] = oy - ys[i] * scale;
        const key = Math.floor(px[i] / CELL) * 4096 + Math.floor(py[i] / CELL);
        if (!cells.has(key)) cells.set(key, []);
        cells.get(key).push(i);
      }
      draw();
    }
    function draw() {
      const context = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      const radius = Math.max(1.3, Math.min(4.5, 130 / Math.sqrt(shownCount)));
      const alpha = shownCount > 5000 ? .55 : .8;
      for (const i of order) {
        const mine = selected === null || m.cluster[i] === selected;
        context.globalAlpha = mine ? alpha : .07;
        context.fillStyle = colour(m.cluster[i]);
        context.beginPath();
        context.arc(px[i], py[i], radius, 0, 6.2832);
        context.fill();
      }
      context.globalAlpha = 1;
      if (k <= 40) nameClusters(context);
      if (hot >= 0) {
        context.strokeStyle = UI.css("--ink");
        context.lineWidth = 2;
        context.beginPath();
        context.arc(px[hot], py[hot], radius + 3, 0, 6.2832);
        context.stroke();
      }
    }
    function nameClusters(context) {
      context.font = "600 13px " + UI.css("--sans");
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.lineWidth = 3.5;
      context.lineJoin = "round";
      for (let c = 0; c < k; c++) {
        if (selected !== null && selected !== c) continue;
        const xs = [], ys = [];
        for (let i = 0; i < shownCount; i++) if (m.cluster[i] === c) { xs.push(px[i]); ys.push(py[i]); }
        if (!xs.length) continue;
        const mid = values => values.sort((a, b) => a - b)[values.length >> 1];
        const x = mid(xs), y = mid(ys);
        context.strokeStyle = UI.css("--paper");
        context.strokeText(String(c), x, y);
        context.fillStyle = UI.css("--ink");
        context.fillText(String(c), x, y);
      }
    }
    function nearest(event) {
      const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = -1, least = 12 * 12;
      const cx = Math.floor(x / CELL), cy = Math.floor(y / CELL);
      for (let a = cx - 1; a <= cx + 1; a++) for (let b = cy - 1; b <= cy + 1; b++) for (const i of cells.get(a * 4096 + b) || []) {
        if (selected !== null && m.cluster[i] !== selected) continue;
        const far = (px[i] - x) ** 2 + (py[i] - y) ** 2;
        if (far < least) { least = far; best = i; }
      }
      return best;
    }
    canvas.addEventListener("pointermove", event => {
      const i = nearest(event);
      if (i !== hot) { hot = i; draw(); }
      UI.tip(event, i < 0 ? null : [
        nameOf(i), `Cluster ${m.cluster[i]}, certainty ${percent(m.certainty[i], 0)}`,
        m.certainty[i] < .5 && m.second[i] >= 0 ? `next: cluster ${m.second[i]}` : null,
        m.truth ? "known class: " + m.truth[i] : null, picture(i, 72)].filter(Boolean));
    });
    canvas.addEventListener("pointerleave", event => { hot = -1; draw(); UI.tip(event, null); });
    canvas.addEventListener("click", event => { const i = nearest(event); if (i >= 0) select(m.cluster[i]); else if (selected !== null) select(selected); });
    new ResizeObserver(layout).observe(canvas);
    UI.onTheme(draw);
    listeners.push(draw);
    return canvas;
  }
  function legend() {
    const buttons = d.sizes.map((size, c) => el("button", {type: "button", "aria-pressed": "false", onclick: () => select(c)}, UI.dot(c), "Cluster " + c, el("span", {class: "n"}, number(size))));
    listeners.push(() => buttons.forEach((button, c) => button.setAttribute("aria-pressed", String(c === selected))));
    return el("div", {class: "legend", role: "group", "aria-label": "Clusters"}, buttons);
  }

  // ---- the graph as a matrix -----------------------------------------------------------
  function matrix() {
    const g = d.graph, raw = atob(g.cells), n = g.edges[g.edges.length - 1];
    const canvas = el("canvas", {class: "matrix", width: 880, height: 880, role: "img", "aria-label": `Learned graph, ${percent(g.within)} of its weight within clusters`});
    const strip = 20, side = 880 - strip;
    const rgb = text => { const c = document.createElement("canvas").getContext("2d"); c.fillStyle = text; c.fillRect(0, 0, 1, 1); return c.getImageData(0, 0, 1, 1).data; };
    function draw() {
      const low = rgb(UI.css("--card")), high = rgb(UI.css("--accent")), ink = UI.css("--ink");
      const cells = el("canvas", {width: g.bins, height: g.bins}), part = cells.getContext("2d"), image = part.createImageData(g.bins, g.bins);
      for (let p = 0; p < g.bins * g.bins; p++) {
        const t = raw.charCodeAt(p) / 255;
        for (let c = 0; c < 3; c++) image.data[4 * p + c] = low[c] + (high[c] - low[c]) * t;
        image.data[4 * p + 3] = 255;
      }
      part.putImageData(image, 0, 0);
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, 880, 880);
      context.imageSmoothingEnabled = g.bins > 440;
      context.drawImage(cells, strip, strip, side, side);
      for (let c = 0; c < k; c++) {
        const from = g.edges[c] / n * side, to = g.edges[c + 1] / n * side;
        context.fillStyle = colour(c);
        context.fillRect(0, strip + from, strip - 8, to - from);
        context.fillRect(strip + from, 0, to - from, strip - 8);
        context.globalAlpha = selected === null || selected === c ? .8 : .15;
        context.strokeStyle = ink;
        context.lineWidth = selected === c ? 4 : k > 40 ? 1 : 1.6;
        context.strokeRect(strip + from, strip + from, to - from, to - from);
        context.globalAlpha = 1;
      }
    }
    const find = fraction => { let c = 0; while (c < k - 1 && g.edges[c + 1] / n <= fraction) c++; return c; };
    const at = event => {
      const box = canvas.getBoundingClientRect(), unit = 880 / box.width;
      const x = ((event.clientX - box.left) * unit - strip) / side, y = ((event.clientY - box.top) * unit - strip) / side;
      return x < 0 || y < 0 ? null : [find(y), find(x)];
    };
    canvas.addEventListener("pointermove", event => { const pair = at(event); UI.tip(event, pair && (pair[0] === pair[1] ? [`Within cluster ${pair[0]}`] : [`Between clusters ${pair[0]} and ${pair[1]}`])); });
    canvas.addEventListener("pointerleave", event => UI.tip(event, null));
    canvas.addEventListener("click", event => { const pair = at(event); if (pair && pair[0] === pair[1]) select(pair[0]); });
    UI.onTheme(draw);
    listeners.push(draw);
    draw();
    return canvas;
  }

  // ---- one cluster ---------------------------------------------------------------------
  const people = list => el("ul", {class: "people"}, list.map(i => {
    const thumb = picture(i, 44), hint = event => UI.tip(event, [nameOf(i), `certainty ${percent(m.certainty[i], 0)}`, m.second[i] >= 0 && m.certainty[i] < .5 ? `next: cluster ${m.second[i]}` : null, m.truth ? "known class: " + m.truth[i] : null].filter(Boolean));
    return el("li", {class: thumb ? "pic" : null, onpointermove: hint, onpointerleave: event => UI.tip(event, null)},
      thumb || [nameOf(i), el("span", {class: "sure"}, percent(m.certainty[i], 0))]);
  }));
  function effects(rows) {
    const top = Math.max(...rows.map(row => Math.abs(row[1])), 1);
    return el("div", {class: "effects"}, rows.map(([name, effect, inside, outside]) => {
      const mark = el("i"), width = 50 * Math.min(1, Math.abs(effect) / top);
      mark.style.width = width + "%";
      mark.style.left = (effect < 0 ? 50 - width : 50) + "%";
      mark.style.background = effect < 0 ? "var(--minus)" : "var(--accent)";
      return [el("div", {class: "name", title: name}, name), el("div", {class: "axis"}, mark),
        el("div", {class: "value", title: `${effect > 0 ? "+" : "−"}${Math.abs(effect).toFixed(1)} deviations`}, `${number(inside)} against ${number(outside)}`)];
    }));
  }
  function card(info, c) {
    return el("article", {class: "cluster", id: "cluster-" + c},
      el("header", {}, UI.dot(c), el("h3", {}, "Cluster " + c), el("span", {class: "small"},
        `${count(d.sizes[c], "member")}, ${percent(d.sizes[c] / d.n)}`, info.certainty === null ? "" : `, mean certainty ${percent(info.certainty, 0)}`)),
      el("div", {}, info.typical.length ? [el("h4", {}, "Most typical"), people(info.typical)] : null,
        el("h4", {}, "Most doubtful"), info.doubtful.length ? people(info.doubtful) : el("p", {class: "small none"}, "Nobody: all are surely placed.")),
      el("div", {}, d.images ? faces(c) : info.features.length ? [el("h4", {}, "What sets it apart: mean here against mean elsewhere"), effects(info.features)] : null));
  }

  // A page of clusters at a time, or the chosen one alone.
  function cards() {
    const PAGE = 12, box = el("div", {}), where = el("span");
    let page = 0;
    const back = el("button", {class: "plain", type: "button", onclick: () => { page--; update(); }}, "Back");
    const next = el("button", {class: "plain", type: "button", onclick: () => { page++; update(); }}, "Next");
    const pager = el("div", {class: "pager"}, back, next, where);
    function update() {
      const first = page * PAGE, last = Math.min(k, first + PAGE);
      const which = selected !== null ? [selected] : Array.from({length: last - first}, (_, i) => first + i);
      box.replaceChildren(...which.map(c => card(d.clusters[c], c)));
      pager.hidden = selected !== null || k <= PAGE;
      back.disabled = first === 0;
      next.disabled = last === k;
      where.textContent = `Clusters ${first} to ${last - 1} of ${k}`;
    }
    listeners.push(update);
    update();
    return [box, pager];
  }

  // ---- all members ---------------------------------------------------------------------
  function members() {
    const columns = [], cells = [];
    const add = (column, values) => { columns.push(column); cells.push(values); };
    const all = m.row.map((_, i) => i);
    if (d.images) add({label: "Picture", format: i => picture(i, 32) || "–", value: row => row[0]}, all);
    if (m.name) add({label: "Name"}, m.name);
    add({label: "Row", number: true, format: v => String(v)}, m.row);
    const at = columns.length;
    add({label: "Cluster", format: v => [UI.dot(v), String(v)]}, m.cluster);
    add({label: "Certainty", format: v => {
      const inner = el("i");
      inner.style.width = 100 * v + "%";
      return [el("span", {class: "sure-bar"}, inner), percent(v, 0)];
    }}, m.certainty);
    if (k > 1) add({label: "Next best", format: v => v < 0 ? "–" : [UI.dot(v), String(v)]}, m.second);
    if (m.outlier) add({label: "Outlier score", number: true}, m.outlier);
    if (m.truth) add({label: "Known class"}, m.truth);
    d.table.names.forEach((name, j) => add({label: name, number: true}, d.table.values[j]));
    const rows = all.map(i => cells.map(values => values[i]));
    const table = UI.table({columns, rows, search: "Search the members", filters: [row => selected === null || row[at] === selected], id: "members-table"});
    const chosen = el("span", {class: "chosen"});
    table.tools.append(chosen);
    listeners.push(() => {
      chosen.replaceChildren(...(selected === null ? [] : ["Only ", ...cluster(selected), el("button", {class: "plain", type: "button", onclick: () => select(selected)}, "Show all")]));
      table.update();
    });
    return table.node;
  }

  // ---- the page ------------------------------------------------------------------------
  const main = UI.shell({title: d.title, lead: `${count(d.n, "point")}${d.columns ? " with " + count(d.columns, "column") : ""}, clustered by ${d.method} on ${d.made}.`});
  const tiles = [{label: "Clusters", value: number(k), note: `sizes ${number(Math.min(...d.sizes))} to ${number(Math.max(...d.sizes))}`},
    {label: "Points", value: number(d.n), note: shownCount < d.n ? `${number(shownCount)} shown here` : "all shown here"}];
  if (d.graph) tiles.push({label: "Graph within clusters", value: percent(d.graph.within), note: `${count(d.graph.links, "link")}, ${number(d.graph.median_degree)} per point`});
  const clear = m.certainty.filter(v => v >= .5).length / shownCount;
  tiles.push({label: "Clearly placed", value: percent(clear, 0), note: "certainty of at least 50 %"});
  if (d.scores) tiles.push({label: "Accuracy", value: percent(d.scores.accuracy), note: `NMI ${percent(d.scores.nmi)}, purity ${percent(d.scores.purity)}, ARI ${number(d.scores.ari)}`});
  if (d.seconds !== null) tiles.push({label: "Time", value: d.seconds < 1 ? number(Math.round(d.seconds * 1000)) + " ms" : number(+d.seconds.toFixed(1)) + " s", note: d.n_iter ? count(d.n_iter, "iteration") + (d.converged === false ? ", not converged" : "") : null});
  main.append(UI.tiles(tiles));
  main.append(d.advice.length ? UI.notes(d.advice.map(text => ({text}))) : UI.notes([{level: "good", text: "Nothing looks odd: the fit converged, every point has neighbours, and no cluster is tiny or huge."}]));

  const how = {
    map: "Clusters lie side by side, similar ones near each other; a point between two of them belongs partly to both. Nearness means similarity, distances mean little.",
    features: "The two main directions of the features.",
  };
  if (d.plane.how !== "none") main.append(UI.section("map", "Map", how[d.plane.how] + " Click a cluster to look at it alone.",
    el("div", {class: "map"}, drawMap(), legend())));

  const graph = d.graph && UI.section("graph", "Learned graph", "Points in the order of their clusters; filled cells are ties. Blocks along the diagonal, and little else, are good.", matrix());
  const sizes = UI.section("sizes", "Sizes", null, UI.bars(d.sizes.map((size, c) => ({name: "Cluster " + c, value: size, text: `${number(size)} · ${percent(size / d.n)}`, colour: colour(c), onclick: () => select(c)}))));
  const weights = (id, title, lead, rows) => {
    const heavy = rows.filter(([, value]) => value >= .0005), light = rows.length - heavy.length;
    return rows.length ? UI.section(id, title, lead, UI.bars(heavy.map(([name, value]) => ({name, value}))), light ? el("p", {class: "small"}, `${light} more without weight.`) : null) : null;
  };
  const kernels = weights("kernels", "Kernel weights", "How much each kernel contributes.", d.weights);
  const geometries = weights("geometries", "Geometry weights", "How much each way to measure distances contributes.", d.geometries);
  const spectrum = d.spectrum && UI.section("spectrum", "Spectrum", d.spectrum.gap === null ? "The smallest eigenvalues of the graph." : "The smallest eigenvalues of the graph; a wide gap after the number of clusters speaks for it.",
    UI.line({series: [{values: d.spectrum.values, name: "Eigenvalue"}], xlabel: "number", ylabel: "eigenvalue", zero: true, label: "Eigenvalues",
      marks: d.spectrum.gap === null ? [] : [{from: d.spectrum.count, to: d.spectrum.count + 1, text: `gap ${number(d.spectrum.gap)}`}]}));
  const short = graph && k <= 12;
  main.append(graph ? el("div", {class: "two"}, graph, el("div", {class: "stack"}, sizes, short && geometries, short && spectrum)) : sizes);

  main.append(UI.section("clusters", "Clusters", "Certainty is the lead of a point's own cluster over the next best one.", cards()));

  const extra = [];
  if (kernels) extra.push(kernels);
  if (geometries && !short) extra.push(geometries);
  if (spectrum && !short) extra.push(spectrum);
  if (d.objective.length) extra.push(UI.section("objective", "Objective", "Its value after each iteration.", UI.line({series: [{values: d.objective, name: "Objective"}], xlabel: "iteration", ylabel: "objective", label: "Objective"})));
  while (extra.length > 1) main.append(el("div", {class: "two"}, extra.shift(), extra.shift()));
  if (extra.length) main.append(extra[0]);

  main.append(UI.section("members", "Members", shownCount < d.n ? `An even part of each cluster, ${number(shownCount)} of ${number(d.n)} points; the file of labels has all.` : null, members()));

  const again = UI.section("redo", "How to do it again", null);
  if (d.redo.command) again.append(el("h3", {}, "On the command line"), UI.code(d.redo.command));
  if (d.redo.python) again.append(el("h3", {}, "In Python"), UI.code(d.redo.python));
  if (d.notes.length) again.append(el("h3", {}, "What was read"), el("ul", {}, d.notes.map(note => el("li", {}, note))));
  again.append(el("h3", {}, "Versions"), el("dl", {class: "facts"}, d.redo.versions.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
  if (d.redo.parameters.length) again.append(el("details", {}, el("summary", {}, "All parameters"), el("dl", {class: "facts"}, d.redo.parameters.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))));
  main.append(again);
})();
