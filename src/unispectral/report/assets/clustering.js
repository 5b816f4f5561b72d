(() => {
  const d = UI.data, {el, number, percent, count} = UI;
  const m = d.members, k = d.sizes.length, shownCount = m.row.length;
  const colour = c => d.colours[c], dot = c => UI.dot(colour(c));
  const nameOf = i => m.name ? m.name[i] : "row " + number(m.row[i]);
  const listeners = [], narrow = innerWidth < 736;
  // What is looked at: a cluster, the samples that fit nowhere, or everything.
  let selected = null;
  const NOWHERE = "nowhere";
  const isShown = i => selected === null || (selected === NOWHERE ? m.nowhere[i] === 1 : m.cluster[i] === selected);
  const refresh = () => listeners.forEach(update => update());
  function select(which) {
    selected = selected === which ? null : which;
    refresh();
  }
  // Names: those that were given, or else proposals; they can be changed on the page.
  const names = d.summary.clusters.map(one => one.name || one.proposal || "");
  const called = c => c === NOWHERE ? "Fit nowhere" : names[c] || "Cluster " + c;
  const titled = c => names[c] ? `${c}: ${names[c]}` : "Cluster " + c;
  const which = c => c === NOWHERE ? ["Fit nowhere"] : [dot(c), titled(c)];

  // ---- the answer, in the words of the terminal ------------------------------------------
  function answer() {
    const told = d.summary, largest = Math.max(...d.sizes);
    const rows = told.clusters.slice(0, 60).map((one, c) => {
      const fill = el("i"), input = el("input", {class: "called", type: "text", maxlength: 60, value: names[c], placeholder: "give it a name", "aria-label": "Name of cluster " + c,
        oninput: () => { names[c] = input.value.trim(); edited(); }});
      fill.style.width = Math.max(1, 100 * one.size / largest) + "%";
      fill.style.background = colour(c);
      return el("li", {}, el("button", {class: "number", type: "button", title: "Look at this cluster alone", onclick: () => select(c)}, dot(c), String(c)),
        k > 1 ? input : el("span"), el("span", {class: "share"}, fill), el("span", {class: "size"}, `${number(one.size)} · ${percent(one.share)}`), el("span", {class: "apart"}, UI.localise(one.text)));
    });
    const keep = el("div", {class: "tools keep", hidden: true}, el("span", {class: "small"}, "Names were changed here:"),
      el("button", {class: "plain", type: "button", onclick: savePage}, "Save this page with them"),
      el("button", {class: "plain", type: "button", onclick: () => { code.replaceChildren(UI.code(inPython())); }}, "Show them in Python"));
    const code = el("div", {});
    const edited = () => { keep.hidden = false; if (code.firstChild) code.replaceChildren(UI.code(inPython())); refresh(); };
    const odd = told.outliers && el("p", {}, told.outliers, d.nowhere > 0 && [" ", el("button", {class: "plain", type: "button", id: "show-nowhere", onclick: () => select(NOWHERE)}, "Show them")]);
    const box = UI.section("answer", UI.localise(told.answer), null, told.why && el("p", {class: "why"}, UI.localise(told.why)), told.sure && el("p", {class: "sure-line"}, UI.localise(told.sure)),
      k > 1 && el("ul", {class: "answers"}, rows), told.clusters.length > 60 && el("p", {class: "small"}, `The first 60 of ${number(told.clusters.length)} clusters.`), keep, code,
      odd, d.changes.length > 0 && [el("h3", {}, "Since last time"), el("ul", {id: "changes"}, d.changes.map(text => el("li", {}, UI.localise(text))))],
      told.columns.map(text => el("p", {}, UI.localise(text))), d.notes.length > 0 && [el("h3", {}, "What was done to the columns"), el("ul", {id: "notes"}, d.notes.map(text => el("li", {}, text)))], told.diagnostics.length > 0 && [el("h3", {}, "What speaks against it"), UI.notes(told.diagnostics.map(text => ({text: UI.localise(text)})))]);
    return box;
  }
  const inPython = () => `model.rename({${names.map((name, c) => name && `${c}: ${JSON.stringify(name)}`).filter(Boolean).join(", ")}})`;
  // The page as it came, with the names of now: what a browser parsed is written down before anything is drawn.
  function savePage() {
    const data = UI.data;
    data.summary.clusters.forEach((one, c) => { one.name = names[c]; });
    const json = JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, sign => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
    const text = UI.source.replace(/(<script type="application\/json" id="data">)[^<]*/, (_, head) => head + json);
    UI.save(d.title, new Blob([text], {type: "text/html"}));
  }

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
  // What colours mean: clusters, known classes, or a column from its least to its largest value.
  const meanings = [{name: "cluster", of: i => colour(m.cluster[i]), value: i => m.cluster[i]}];
  if (d.classes) {
    const place = new Map(d.classes.names.map((name, c) => [name, c]));
    meanings.push({name: "known class", of: i => d.classes.colours[place.get(m.truth[i])], value: i => m.truth[i], key: d.classes});
  }
  for (const part of d.colouring) {
    const levels = atob(part.levels), [low, high] = part.ends;
    const level = i => levels.charCodeAt(i);
    meanings.push({name: part.name, ends: part.ends, of: i => level(i) === 255 ? UI.css("--faint") : UI.amount(level(i) / 254),
      value: i => level(i) === 255 ? null : +(low + (high - low) * level(i) / 254).toPrecision(4)});
  }
  for (const part of d.beside) {  // columns that did not make the clusters
    if (part.names) {
      const place = new Map(part.names.map((name, c) => [name, c]));
      meanings.push({name: part.name, of: i => part.colours[place.get(part.values[i])], value: i => part.values[i], key: {names: part.names, colours: part.colours}});
    } else if (part.levels) {
      const levels = atob(part.levels), [low, high] = part.ends;
      const level = i => levels.charCodeAt(i);
      meanings.push({name: part.name, ends: part.ends, of: i => level(i) === 255 ? UI.css("--faint") : UI.amount(level(i) / 254),
        value: i => level(i) === 255 ? null : +(low + (high - low) * level(i) / 254).toPrecision(6)});
    }
  }
  let meaning = meanings[0], recolour = () => null;
  const how = {
    map: "Clusters lie side by side, similar ones near each other; a sample between two of them belongs partly to both. The less sure a cluster is, the wider it is drawn: clusters that run into each other are not clearly apart." + (d.nowhere ? " Samples with a ring fit nowhere." : "") + " Distances between clusters mean little.",
    features: "The two directions in which the columns vary most. Clusters that lie apart here are apart; those that overlap may be apart in other columns.",
    one: "The two directions in which the columns vary most.",
    columns: "Two columns, each from its least to its largest value; a missing value lies at the edge.",
    place: "Where each sample lies on earth, north upwards.",
  };
  function drawMap() {
    const canvas = el("canvas", {role: "img", tabindex: "0", "aria-label": `Map of ${count(shownCount, "sample")} in ${count(k, "cluster")}`});
    // Where points lie: the map of the clusters, the main directions, two columns, or places on earth.
    const planes = [{name: d.plane.how === "map" ? "map of the clusters" : "main directions of the columns", kind: d.plane.how, xs: d.plane.x, ys: d.plane.y, words: how[d.plane.how]}];
    if (d.plane.main) planes.push({name: "main directions of the columns", kind: "features", xs: d.plane.main.x, ys: d.plane.main.y, words: how.features});
    const axes = d.axes ? d.axes.columns : [];
    if (d.axes && d.axes.place) {
      const [lon, lat] = d.axes.place.map(at => axes[at]), span = one => (one.ends[1] - one.ends[0]) / 2 || 1e-9;
      const most = Math.max(span(lon), span(lat)), narrow = Math.max(.2, Math.cos((lat.ends[0] + lat.ends[1]) / 360 * Math.PI));
      planes.unshift({name: "places (longitude, latitude)", kind: "place", narrow, xs: lon.at.map(v => v * span(lon) / most), ys: lat.at.map(v => v * span(lat) / most), words: how.place});
    }
    if (k === 1 && planes.length > 1) planes.push(planes.shift());  // one cluster has no map
    if (axes.length > 1) planes.push({name: "two columns", kind: "columns", free: true, words: how.columns});
    let plane = planes[0], pair = [0, 1];
    const order = Array.from({length: shownCount}, (_, i) => i);
    for (let i = order.length - 1; i > 0; i--) {  // mixed, so that no cluster hides the others; the same each time
      const j = (i * 7919 + 104729) % (i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    const own = d.sizes.map(() => []);
    order.forEach(i => own[m.cluster[i]].push(i));
    const px = new Float32Array(shownCount), py = new Float32Array(shownCount), CELL = 16;
    let cells = new Map(), hot = -1, radius = 3, names = [];
    const view = {zoom: 1, x: 0, y: 0};  // x and y: what is in the middle, in the units of the plane
    function layout() {
      const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      if (!box.width) return;
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
      const {xs, ys} = plane;
      let [wide, high] = [1e-9, 1e-9];
      for (let i = 0; i < shownCount; i++) { wide = Math.max(wide, Math.abs(xs[i])); high = Math.max(high, Math.abs(ys[i])); }
      const across = view.zoom * (box.width / 2 - 22) / wide, up = view.zoom * (box.height / 2 - 22) / high;
      const scale = Math.min(across, up);  // one scale, unless two columns of different units are drawn
      [view.sx, view.sy] = plane.free ? [across, up] : [scale * (plane.narrow || 1), scale];
      radius = Math.max(.8, Math.min(4.5 * Math.sqrt(view.zoom), plane.kind === "map" ? .46 * d.plane.gap * scale : Math.min(3.5, 130 / Math.sqrt(shownCount))));
      cells = new Map();
      for (let i = 0; i < shownCount; i++) {
        px[i] = box.width / 2 + (xs[i] - view.x) * view.sx;
        py[i] = box.height / 2 - (ys[i] - view.y) * view.sy;
        const key = Math.floor(px[i] / CELL) * 4096 + Math.floor(py[i] / CELL);
        if (!cells.has(key)) cells.set(key, []);
        cells.get(key).push(i);
      }
      view.scale = scale;
      names = k <= 40 ? placeNames(box) : [];
      draw();
    }
    // The points in a rectangle around a place.
    function around(x, y, wide, high) {
      const found = [];
      for (let a = Math.floor((x - wide) / CELL); a <= Math.floor((x + wide) / CELL); a++) for (let b = Math.floor((y - high) / CELL); b <= Math.floor((y + high) / CELL); b++)
        for (const i of cells.get(a * 4096 + b) || []) if (Math.abs(px[i] - x) < wide && Math.abs(py[i] - y) < high) found.push(i);
      return found;
    }
    // A name stands in the middle of its cluster, or beside its core where it would hide much of it: where it covers least.
    function placeNames(box) {
      const found = [], mid = values => values.sort((a, b) => a - b)[values.length >> 1];
      own.forEach((mine, c) => {
        if (!mine.length) return;
        const x = mid(mine.map(i => px[i])), y = mid(mine.map(i => py[i])), wide = 3 + 4.5 * String(c).length, high = 8;
        if (!(x > 0 && x < box.width && y > 0 && y < box.height)) return;
        const far = mine.map(i => Math.hypot(px[i] - x, py[i] - y)), reach = 1.45 * mid([...far]);
        const core = mine.filter((_, n) => far[n] <= reach);  // without the strays
        const side = (inside, along) => Math.max(0, ...core.filter(inside).map(along)) + radius;
        const [up, down] = [-1, 1].map(s => side(i => Math.abs(px[i] - x) < wide, i => s * (py[i] - y)) + high);
        const [left, right] = [-1, 1].map(s => side(i => Math.abs(py[i] - y) < high, i => s * (px[i] - x)) + wide);
        const places = [0, 14, 28].flatMap(more => [[0, -up - more], [right + more, 0], [-left - more, 0], [0, down + more]].map(([dx, dy]) => ({dx, dy, cost: more / 4})));
        if (around(x, y, wide, high).filter(i => m.cluster[i] === c).length <= .08 * mine.length) places.unshift({dx: 0, dy: 0, cost: -1e3});
        for (const place of places) {
          place.x = Math.max(wide, Math.min(box.width - wide, x + place.dx));
          place.y = Math.max(high + 1, Math.min(box.height - high - 1, y + place.dy));
          place.cost += around(place.x, place.y, wide, high).length + 1e4 * found.filter(other => Math.abs(other.x - place.x) < other.wide + wide && Math.abs(other.y - place.y) < 2 * high).length;
        }
        const best = places.reduce((a, b) => b.cost < a.cost ? b : a);
        found.push({c, x: best.x, y: best.y, wide});
      });
      return found;
    }
    function draw() {
      const context = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      // Dark colours need a rim on dark paper.
      const ringed = document.documentElement.dataset.theme === "dark" && radius > 1.5;
      context.strokeStyle = "#ffffff99";
      context.lineWidth = .7;
      for (const i of order) {
        context.globalAlpha = isShown(i) ? .85 : .07;
        context.fillStyle = meaning.of(i);
        context.beginPath();
        context.arc(px[i], py[i], radius, 0, 6.2832);
        context.fill();
        if (ringed) context.stroke();
      }
      // What fits nowhere has a ring of its own.
      if (m.nowhere) {
        context.strokeStyle = UI.css("--bad");
        context.lineWidth = 1.4;
        for (const i of order) if (m.nowhere[i] && isShown(i)) {
          context.globalAlpha = .9;
          context.beginPath();
          context.arc(px[i], py[i], radius + 2, 0, 6.2832);
          context.stroke();
        }
      }
      context.globalAlpha = 1;
      context.font = "600 13px " + UI.css("--sans");
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.lineWidth = 3.5;
      context.lineJoin = "round";
      for (const name of names) if (selected === null || selected === name.c) {
        context.strokeStyle = UI.css("--paper");
        context.strokeText(String(name.c), name.x, name.y);
        context.fillStyle = UI.css("--ink");
        context.fillText(String(name.c), name.x, name.y);
      }
      if (hot >= 0) {
        context.strokeStyle = UI.css("--ink");
        context.lineWidth = 2;
        context.beginPath();
        context.arc(px[hot], py[hot], radius + 3, 0, 6.2832);
        context.stroke();
      }
    }
    const art = () => {
      const box = canvas.getBoundingClientRect();
      return UI.svg("svg", {viewBox: `0 0 ${Math.round(box.width)} ${Math.round(box.height)}`},
        order.map(i => UI.svg("circle", {cx: px[i].toFixed(1), cy: py[i].toFixed(1), r: radius.toFixed(2), fill: meaning.of(i), "fill-opacity": isShown(i) ? .85 : .07})),
        names.map(name => UI.svg("text", {x: name.x, y: name.y + 4, "text-anchor": "middle", "font-family": "sans-serif", "font-weight": 600, "font-size": 13, fill: UI.css("--ink")}, name.c)));
    };
    const rows = () => [["row", "name", "x", "y", "cluster", meaning.name], ...m.row.map((row, i) => [row, m.name ? m.name[i] : "", plane.xs[i], plane.ys[i], m.cluster[i], meaning.value(i)])];
    function nearest(event) {
      const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = -1, least = 12 * 12;
      for (const i of around(x, y, 12, 12)) {
        if (!isShown(i)) continue;
        const far = (px[i] - x) ** 2 + (py[i] - y) ** 2;
        if (far < least) { least = far; best = i; }
      }
      return best;
    }
    // ---- zoom: buttons, double click, Ctrl and the wheel, + and −; what is zoomed can be dragged
    const level = el("span", {class: "small", role: "status"});
    function zoom(factor, at = null) {
      const box = canvas.getBoundingClientRect(), before = view.zoom;
      view.zoom = Math.max(1, Math.min(64, view.zoom * factor));
      if (view.zoom === 1) view.x = view.y = 0;
      else if (at) {  // what is under the pointer stays there
        const keep = (1 - before / view.zoom) / view.scale;
        view.x += (at.clientX - box.left - box.width / 2) * keep * view.scale / view.sx;
        view.y -= (at.clientY - box.top - box.height / 2) * keep * view.scale / view.sy;
      }
      level.textContent = view.zoom > 1 ? `× ${number(+view.zoom.toFixed(1))}` : "";
      canvas.dataset.zoom = view.zoom;
      layout();
    }
    let from = null, moved = false;
    canvas.addEventListener("wheel", event => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(event.deltaY < 0 ? 1.3 : 1 / 1.3, event); } }, {passive: false});
    canvas.addEventListener("dblclick", event => zoom(2, event));
    canvas.addEventListener("keydown", event => {
      if (event.key === "+" || event.key === "=") zoom(1.5);
      else if (event.key === "-") zoom(1 / 1.5);
      else if (event.key === "0") zoom(0);
      else if (event.key.startsWith("Arrow") && view.zoom > 1) {
        view.x += ({ArrowLeft: -40, ArrowRight: 40}[event.key] || 0) / view.sx;
        view.y += ({ArrowDown: -40, ArrowUp: 40}[event.key] || 0) / view.sy;
        layout();
      } else return;
      event.preventDefault();
    });
    canvas.addEventListener("pointerdown", event => { moved = false; if (view.zoom > 1) { from = [event.clientX, event.clientY, view.x, view.y]; canvas.setPointerCapture(event.pointerId); } });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { from = null; });
    canvas.addEventListener("pointermove", event => {
      if (from) {
        moved = moved || Math.hypot(event.clientX - from[0], event.clientY - from[1]) > 4;
        view.x = from[2] - (event.clientX - from[0]) / view.sx;
        view.y = from[3] + (event.clientY - from[1]) / view.sy;
        layout();
        return;
      }
      const i = nearest(event);
      if (i !== hot) { hot = i; draw(); }
      UI.tip(event, i < 0 ? null : [
        nameOf(i), k > 1 ? `${titled(m.cluster[i])}, certainty ${percent(m.certainty[i], 0)}` : null, m.nowhere && m.nowhere[i] ? "fits nowhere" : null,
        m.certainty[i] < .5 && m.second[i] >= 0 ? `next: ${titled(m.second[i])}` : null,
        m.truth ? "known class: " + m.truth[i] : null, meaning.ends ? `${meaning.name}: ${number(meaning.value(i))}` : null, picture(i, 72)].filter(Boolean));
    });
    canvas.addEventListener("pointerleave", event => { hot = -1; draw(); UI.tip(event, null); });
    canvas.addEventListener("click", event => { if (moved) return; const i = nearest(event); if (i >= 0) select(m.cluster[i]); else if (selected !== null) select(selected); });
    new ResizeObserver(layout).observe(canvas);
    UI.onTheme(draw);
    listeners.push(draw);
    const scale = el("div", {class: "scale"});
    const pick = el("select", {id: "colour-by", onchange: () => {
      meaning = meanings[Number(pick.value)];
      scale.replaceChildren(...(meaning.ends ? [number(meaning.ends[0]), el("span", {class: "ramp"}), number(meaning.ends[1])]
        : meaning.key ? meaning.key.names.slice(0, 40).map((name, c) => el("span", {}, UI.dot(meaning.key.colours[c]), name)) : []));
      const ramp = scale.querySelector(".ramp");
      if (ramp) ramp.style.background = `linear-gradient(90deg, ${Array.from({length: 11}, (_, t) => UI.amount(t / 10)).join(", ")})`;
      draw();
    }}, meanings.map((one, i) => el("option", {value: i}, one.name)));
    const caption = el("p", {class: "lead caption"});
    const sides = el("span", {class: "sides", hidden: true});
    const side = at => { const list = el("select", {"aria-label": at ? "Column upwards" : "Column to the right", onchange: () => { pair[at] = Number(list.value); show(); }},
      axes.map((one, j) => el("option", {value: j, selected: j === pair[at]}, one.name))); return list; };
    if (axes.length > 1) sides.append("right ", side(0), " up ", side(1));
    function show() {
      if (plane.kind === "columns") [plane.xs, plane.ys] = pair.map(j => axes[j].at.map(v => v === null ? -1.04 : v));
      sides.hidden = plane.kind !== "columns";
      caption.textContent = (k === 1 && plane.kind === "features" ? how.one : plane.words) + (k > 1 ? " Click a cluster to look at it alone; zoom" : " Zoom") + " with the buttons, or with Ctrl and the wheel.";
      zoom(0);
    }
    const lay = el("select", {id: "draw-as", onchange: () => { plane = planes[Number(lay.value)]; show(); }}, planes.map((one, j) => el("option", {value: j}, one.name)));
    const button = (label, title, press) => el("button", {class: "plain", type: "button", title, "aria-label": title, onclick: press}, label);
    const tools = el("div", {class: "tools"}, planes.length > 1 && el("label", {class: "small"}, "Draw as ", lay), sides, meanings.length > 1 && el("label", {class: "small"}, "Colour by ", pick), scale, el("span", {class: "space"}), level,
      el("span", {class: "together"},
        button("+", "Zoom in", () => zoom(1.5)), button("−", "Zoom out", () => zoom(1 / 1.5)), button("Reset", "Show the whole map", () => zoom(0))));
    show();
    recolour = () => { if (meanings.includes(meaning)) pick.value = String(meanings.indexOf(meaning)); scale.replaceChildren(); draw(); };
    return [caption, tools, el("div", {class: "map"}, UI.figure("Map", canvas, rows, art), legend())];
  }
  function legend() {
    const entry = (which, mark, size) => { const name = el("span", {class: "who"}, called(which));
      return {which, name, button: el("button", {type: "button", "aria-pressed": "false", onclick: () => select(which)}, mark, name, el("span", {class: "n"}, number(size)))}; };
    const entries = d.sizes.map((size, c) => entry(c, dot(c), size));
    if (d.nowhere) entries.push(entry(NOWHERE, el("span", {class: "dot ring"}), d.nowhere));
    listeners.push(() => entries.forEach(one => {
      one.button.setAttribute("aria-pressed", String(one.which === selected));
      one.name.textContent = called(one.which);
      one.name.title = one.which === NOWHERE ? "" : titled(one.which);
    }));
    return el("div", {class: "legend", role: "group", "aria-label": "Clusters"}, entries.map(one => one.button));
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
    const filled = () => Array.from({length: g.bins * g.bins}, (_, p) => [Math.floor(p / g.bins), p % g.bins, raw.charCodeAt(p)]).filter(cell => cell[2]);
    const art = () => UI.svg("svg", {viewBox: `0 0 ${g.bins} ${g.bins}`}, filled().map(([y, x, shade]) => UI.svg("rect", {x, y, width: 1, height: 1, fill: UI.css("--accent"), "fill-opacity": (shade / 255).toFixed(2)})),
      d.sizes.map((size, c) => UI.svg("rect", {x: g.edges[c] / n * g.bins, y: g.edges[c] / n * g.bins, width: size / n * g.bins, height: size / n * g.bins, fill: "none", stroke: colour(c), "stroke-width": .6})));
    return UI.figure("Learned graph", canvas, () => [["row", "column", "shade"], ...filled()], art);
  }

  // ---- clusters by columns ---------------------------------------------------------------
  // Effects as colours; a column's name opens the values of each cluster: 5, 25, 50, 75 and 95 %.
  function heat() {
    const h = d.heat, rows = Math.min(k, 60), CW = 34, CH = 24, called = c => UI.short(titled(c), narrow ? 16 : 26), cut = Math.max(1, Math.min(3, ...[Math.max(...h.effect.flat().map(Math.abs))]));
    const letters = Math.max(...h.names.map(name => Math.min(24, name.length)));
    const left = 20 + 6.4 * Math.max(...Array.from({length: rows}, (_, c) => called(c).length));
    const top = 18 + 5.4 * letters, slope = Math.max(58, 4.4 * letters + 8 - 14);
    const wide = left + CW * h.names.length + slope, high = top + CH * rows + 4;
    const art = UI.svg("svg", {class: "chart", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": "Clusters by columns"});
    art.style.width = wide + "px";
    const box = el("div", {class: "values"});
    h.names.forEach((name, j) => art.append(UI.svg("text", {class: "link strong", transform: `translate(${left + CW * j + 14} ${top - 8}) rotate(-50)`, role: "button", tabindex: "0", "data-tip": `${name}: show its values in each cluster`,
      onclick: () => open(j), onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(j); } }}, UI.short(name, 24))));
    for (let c = 0; c < rows; c++) {
      art.append(UI.svg("text", {class: "strong", x: left - 8, y: top + CH * c + 16, "text-anchor": "end"}, called(c)));
      h.names.forEach((name, j) => {
        const effect = h.effect[c][j], fill = UI.difference(effect / cut), q = h.quantiles[j][c];
        const rect = UI.svg("rect", {class: "link", x: left + CW * j, y: top + CH * c, width: CW - 2, height: CH - 2, rx: 3, fill, onclick: () => open(j),
          "data-tip": `Cluster ${c}, ${name}\n${effect < 0 ? "−" : "+"}${UI.fixed(Math.abs(effect), 1)} standard deviations from the rest` + (q ? `\nmedian ${number(q[2])}, half of it from ${number(q[1])} to ${number(q[3])}` : "")});
        const text = UI.svg("text", {x: left + CW * j + CW / 2 - 1, y: top + CH * c + 15, "text-anchor": "middle", "pointer-events": "none", "font-size": 10}, UI.fixed(effect, 1));
        text.style.fill = UI.inkOn(fill);
        art.append(rect, text);
      });
    }
    function open(j) {
      const parts = h.quantiles[j].slice(0, rows), known = parts.filter(Boolean).flat();
      const low = Math.min(...known), high = Math.max(...known), wide = narrow ? 150 : 420, left = 20 + 6.4 * Math.max(...parts.map((_, c) => called(c).length));
      const x = v => left + wide * (v - low) / Math.max(high - low, 1e-300);
      const drawn = UI.svg("svg", {class: "chart", viewBox: `0 0 ${left + wide + 30} ${parts.length * 22 + 30}`, role: "img", "aria-label": `${h.names[j]} in each cluster`},
        UI.ticks(low, high).map(t => [UI.svg("line", {class: "grid", x1: x(t), x2: x(t), y1: 0, y2: parts.length * 22}), UI.svg("text", {x: x(t), y: parts.length * 22 + 18, "text-anchor": "middle"}, number(t))]),
        parts.map((q, c) => [UI.svg("text", {class: "strong", x: left - 8, y: 22 * c + 15, "text-anchor": "end"}, called(c)), q && [
          UI.svg("line", {class: "range", x1: x(q[0]), x2: x(q[4]), y1: 22 * c + 11, y2: 22 * c + 11}),
          UI.svg("rect", {x: x(q[1]), width: Math.max(1.5, x(q[3]) - x(q[1])), y: 22 * c + 4, height: 14, rx: x(q[3]) - x(q[1]) > 8 ? 2 : 0, fill: colour(c), "data-tip": `Cluster ${c}: 5 % ${number(q[0])}, 25 % ${number(q[1])}, median ${number(q[2])}, 75 % ${number(q[3])}, 95 % ${number(q[4])}`}),
          UI.svg("line", {class: "range", x1: x(q[2]), x2: x(q[2]), y1: 22 * c + 2, y2: 22 * c + 20})]]));
      box.replaceChildren(el("h3", {}, `${h.names[j]} in each cluster`), UI.figure(`${h.names[j]} in each cluster`, drawn, () => [["cluster", "5 %", "25 %", "median", "75 %", "95 %"], ...parts.map((q, c) => [c, ...(q || [])])]));
    }
    open(0);
    return [el("div", {class: "both"}, el("div", {class: "scroll"}, UI.figure("Clusters by columns", art, () => [["cluster", ...h.names], ...h.effect.map((line, c) => [c, ...line])])), box)];
  }

  // ---- how clusters relate: which two are joined first ------------------------------------
  function tree() {
    const at = d.sizes.map((_, c) => ({x: 0, leaves: [c]})), ROW = 22, left = 12, wide = 300;
    for (const [a, b, height] of d.tree.steps) at.push({a, b, x: height, leaves: [...at[a].leaves, ...at[b].leaves]});
    const last = at[at.length - 1], order = last.leaves, x = h => left + wide * (1 - h / Math.max(last.x, 1e-300));
    at.forEach(node => { node.y = node.a === undefined ? ROW * order.indexOf(node.leaves[0]) + 14 : (at[node.a].y + at[node.b].y) / 2; });
    const art = UI.svg("svg", {class: "chart", viewBox: `0 0 ${left + wide + 150} ${ROW * k + 8}`, role: "img", "aria-label": "How the clusters relate"},
      at.filter(node => node.a !== undefined).map(node => [node.a, node.b].map(c => UI.svg("path", {class: "branch", d: `M${x(node.x)} ${node.y}V${at[c].y}H${x(at[c].x)}`}))),
      order.map(c => [UI.svg("circle", {cx: left + wide + 8, cy: at[c].y, r: 5, fill: colour(c)}), UI.svg("text", {class: "strong", x: left + wide + 20, y: at[c].y + 4}, `Cluster ${c} (${number(d.sizes[c])})`)]));
    return UI.figure("How the clusters relate", art, () => [["joined", "with", "as", "at"], ...d.tree.steps.map(([a, b, height], i) => [a, b, k + i, height])]);
  }

  // ---- why this number -------------------------------------------------------------------
  function whyPicture() {
    const e = d.evidence, W = narrow ? 360 : 520, H = 196, left = 46, bottom = 40, top = 22, low = Math.min(0, ...e.scores), high = Math.max(1e-9, ...e.scores);
    const step = (W - left - 10) / e.counts.length, y = v => top + (H - top - bottom) * (high - v) / (high - low), every = Math.ceil(e.counts.length / (narrow ? 10 : 20));
    const art = UI.svg("svg", {class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Evidence for each number of clusters"},
      UI.ticks(low, high, 4).map(t => [UI.svg("line", {class: "grid", x1: left, x2: W - 10, y1: y(t), y2: y(t)}), UI.svg("text", {x: left - 8, y: y(t) + 4, "text-anchor": "end"}, number(t))]),
      e.counts.map((c, i) => [UI.svg("rect", {class: c === e.chosen ? "chosen-bar" : "bar-mark", x: left + step * i + step * .12, width: step * .76, y: Math.min(y(0), y(e.scores[i])), height: Math.max(1, Math.abs(y(e.scores[i]) - y(0))), rx: 2, "data-tip": `${c} clusters: evidence ${number(e.scores[i])}`}),
        (c - 2) % every === 0 || c === e.chosen ? UI.svg("text", {class: c === e.chosen ? "strong" : null, x: left + step * (i + .5), y: H - bottom + 17, "text-anchor": "middle"}, c) : null]),
      UI.svg("text", {x: (left + W) / 2, y: H - 6, "text-anchor": "middle"}, "number of clusters"));
    return UI.figure("Evidence for each number of clusters", art, () => [["number of clusters", "evidence"], ...e.counts.map((c, i) => [c, e.scores[i]])]);
  }

  // ---- every number of clusters, by one tree ------------------------------------------------
  function levelsPicture() {
    const tree = d.levels, leaves = tree.sizes.length, total = tree.sizes.reduce((a, b) => a + b, 0);
    const node = Array.from({length: leaves}, (_, i) => ({leaves: [i], size: tree.sizes[i], x: 0}));
    tree.merges.forEach(([a, b, height]) => node.push({a, b, x: height, size: node[a].size + node[b].size, leaves: [...node[a].leaves, ...node[b].leaves]}));
    // The nodes that are clusters where there are so many of them.
    function nodesAt(wanted) {
      const alive = new Set(Array.from({length: leaves}, (_, i) => i));
      for (let step = 0; step < leaves - wanted; step++) { const [a, b] = tree.merges[step]; alive.delete(a); alive.delete(b); alive.add(leaves + step); }
      return [...alive];
    }
    // Which leaves belong to a cluster of the fit: these keep its colour where they can.
    const fittedOf = Array.from({length: leaves});
    m.cluster.forEach((c, i) => { fittedOf[tree.leaf[i]] = c; });
    function coloursAt(nodes) {
      const used = new Set(), found = new Map();
      const free = tree.colours.filter(one => !d.colours.includes(one));
      [...nodes].sort((a, b) => node[b].size - node[a].size).forEach(at => {
        const weight = new Map();
        node[at].leaves.forEach(leaf => weight.set(fittedOf[leaf], (weight.get(fittedOf[leaf]) || 0) + tree.sizes[leaf]));
        const own = [...weight].sort((a, b) => b[1] - a[1]).map(([c]) => c).find(c => c !== undefined && !used.has(c));
        if (own !== undefined) { used.add(own); found.set(at, d.colours[own]); }
        else found.set(at, free.length ? free.shift() : UI.css("--faint"));
      });
      return found;
    }
    const last = node[node.length - 1], order = last.leaves, ROW = leaves > 24 ? 13 : 18, left = 10, wide = 460;
    const x = h => left + wide * (1 - Math.sqrt(h / Math.max(last.x, 1e-300)));
    node.forEach(one => { one.y = one.a === undefined ? ROW * order.indexOf(one.leaves[0]) + 12 : (node[one.a].y + node[one.b].y) / 2; });
    const picture = el("div", {}), said = el("p", {class: "small", role: "status"});
    const slider = el("input", {type: "range", min: 1, max: leaves, step: 1, value: k, id: "level", "aria-label": "Number of clusters", oninput: () => show(Number(slider.value))});
    const shown = el("b", {class: "level"}, String(k));
    const own = {name: "clusters of the slider", of: () => "", value: () => null, hidden: true};
    function show(wanted) {
      const nodes = nodesAt(wanted), colours = coloursAt(nodes), leafAt = new Array(leaves);
      // Numbered by their first samples, as the model does.
      const first = new Map();
      nodes.forEach(at => node[at].leaves.forEach(leaf => { leafAt[leaf] = at; }));
      m.row.forEach((_, i) => { const at = leafAt[tree.leaf[i]]; if (!first.has(at)) first.set(at, first.size); });
      shown.textContent = String(wanted);
      const stable = wanted === k ? d.summary.stability : d.summary.others[String(wanted)];
      said.textContent = `${count(wanted, "cluster")}: ${nodes.map(at => node[at].size).sort((a, b) => b - a).slice(0, 12).map(v => number(v)).join(", ")}${wanted > 12 ? ", …" : ""} samples` +
        (stable === undefined || stable === null ? "." : wanted === k && d.summary.by === "candidates" ? `; the ways to cluster that were tried agree by ${UI.fixed(stable, 2)} (1 is the same).` : `; found again without a tenth of the samples by ${UI.fixed(stable, 2)} (1 is the same).`) + (wanted === k ? " These are the clusters of the fit." : "");
      own.of = i => colours.get(leafAt[tree.leaf[i]]);
      own.value = i => first.get(leafAt[tree.leaf[i]]);
      own.name = wanted === k ? "cluster" : `${wanted} clusters`;
      meaning = wanted === k ? meanings[0] : own;
      recolour();
      const limit = wanted < leaves ? node[leaves + leaves - wanted - 1].x : 0;
      const inside = new Map(nodes.flatMap(at => { const found = [], walk = one => { found.push([one, colours.get(at)]); if (node[one].a !== undefined) { walk(node[one].a); walk(node[one].b); } }; walk(at); return found; }));
      const art = UI.svg("svg", {class: "chart", viewBox: `0 0 ${left + wide + 300} ${ROW * leaves + 8}`, role: "img", "aria-label": "Tree of the clusters"},
        node.map((one, at) => one.a === undefined ? null : [one.a, one.b].map(child => { const path = UI.svg("path", {class: "branch", d: `M${x(one.x)} ${one.y}V${node[child].y}H${x(node[child].x)}`}); if (inside.has(at)) path.style.stroke = inside.get(at); return path; })),
        nodes.map(at => [UI.svg("circle", {cx: x(node[at].x), cy: node[at].y, r: 5, fill: colours.get(at), "data-tip": `${number(node[at].size)} samples, ${percent(node[at].size / total)}`}),
          wanted === k && node[at].leaves.length ? UI.svg("text", {class: "strong", x: left + wide + 14, y: node[at].y + 4}, UI.short(titled(fittedOf[node[at].leaves[0]]), 40)) : UI.svg("text", {x: left + wide + 14, y: node[at].y + 4}, number(node[at].size))]));
      picture.replaceChildren(UI.figure("Tree of the clusters", el("div", {class: "scroll"}, art), () => [["joined", "with", "as", "at", "size"], ...tree.merges.map(([a, b, height], i) => [a, b, leaves + i, height, node[leaves + i].size])]));
    }
    listeners.push(() => { if (Number(slider.value) === k) show(k); });
    show(k);
    return [el("div", {class: "tools"}, el("label", {class: "small", for: "level"}, "Number of clusters"), slider, shown,
      el("button", {class: "plain", type: "button", onclick: () => { slider.value = String(k); show(k); }}, `Back to ${k}`)), said, picture];
  }

  // ---- one cluster ---------------------------------------------------------------------
  const people = list => el("ul", {class: "people"}, list.map(i => {
    const thumb = picture(i, 44), hint = event => UI.tip(event, [nameOf(i), `certainty ${percent(m.certainty[i], 0)}`, m.second[i] >= 0 && m.certainty[i] < .5 ? `next: ${titled(m.second[i])}` : null, m.truth ? "known class: " + m.truth[i] : null].filter(Boolean));
    return el("li", {class: thumb ? "pic" : null, onpointermove: hint, onpointerleave: event => UI.tip(event, null)},
      thumb || [nameOf(i), el("span", {class: "sure"}, percent(m.certainty[i], 0))]);
  }));
  function effects(rows) {
    const top = Math.max(...rows.map(row => Math.abs(row[1])), 1);
    return el("div", {class: "effects"}, rows.map(([name, effect, inside, outside, decimals, words, means]) => {
      const mark = el("i"), width = 50 * Math.min(1, Math.abs(effect) / top);
      mark.style.width = width + "%";
      mark.style.left = (effect < 0 ? 50 - width : 50) + "%";
      mark.style.background = effect < 0 ? "var(--minus)" : "var(--accent)";
      return [el("div", {class: "name", title: name}, UI.short(name, 22)), el("div", {class: "axis"}, mark),
        el("div", {class: "value", title: `${effect > 0 ? "+" : "−"}${UI.fixed(Math.abs(effect), 1)} standard deviations`},
          decimals < 0 ? `${percent(inside, 0)} against ${percent(outside, 0)}` : words ? `${words[0]} against ${words[1]}` : `${UI.fixed(inside, decimals)} against ${UI.fixed(outside, decimals)}`,
          means && el("span", {class: "means"}, `means ${UI.fixed(means[0], decimals)}, ${UI.fixed(means[1], decimals)}`))];
    }));
  }
  function card(info, c) {
    return el("article", {class: "cluster", id: "cluster-" + c},
      el("header", {}, dot(c), el("h3", {}, titled(c)), el("span", {class: "small"},
        `${count(d.sizes[c], "member")}, ${percent(d.sizes[c] / d.n)}`, info.certainty === null ? "" : `, mean certainty ${percent(info.certainty, 0)}`)),
      el("div", {}, info.typical.length ? [el("h4", {}, "Most typical"), people(info.typical)] : null,
        el("h4", {}, "Most doubtful"), info.doubtful.length ? people(info.doubtful) : el("p", {class: "small none"}, "None: all are clearly assigned.")),
      el("div", {}, d.images ? faces(c) : d.by_words ? [el("h4", {}, "What sets it apart: words of its texts"), el("p", {class: "small"}, UI.localise(d.summary.clusters[c].text))] : info.features.length ? [el("h4", {}, "What sets it apart: median, answer or share, here against elsewhere"), effects(info.features)] : null));
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
      const alone = typeof selected === "number";
      const listed = alone ? [selected] : Array.from({length: last - first}, (_, i) => first + i);
      box.replaceChildren(...listed.map(c => card(d.clusters[c], c)));
      pager.hidden = alone || k <= PAGE;
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
    add({label: "Cluster", format: v => [dot(v), String(v)]}, m.cluster);
    if (k > 1) add({label: "Certainty", format: v => {
      const inner = el("i");
      inner.style.width = 100 * v + "%";
      return [el("span", {class: "sure-bar"}, inner), percent(v, 0)];
    }}, m.certainty);
    if (k > 1) add({label: "Next best", format: v => v < 0 ? "–" : [dot(v), String(v)]}, m.second);
    if (k > 1) add({label: "Name of cluster", format: (_, row) => names[row[at]] || "–", value: row => names[row[at]], text: row => names[row[at]]}, m.cluster);
    if (m.outlier) add({label: "Outlier score", number: true, format: v => v === null ? "–" : UI.fixed(v, 3)}, m.outlier);
    const odd = columns.length;
    if (m.nowhere && d.nowhere) add({label: "Fits nowhere", format: v => v ? "yes" : ""}, m.nowhere);
    if (m.truth) add({label: "Known class"}, m.truth);
    d.table.names.forEach((name, j) => add({label: name, number: true, format: v => v === null ? "–" : UI.fixed(v, d.table.decimals[j])}, d.table.values[j]));
    const rows = all.map(i => cells.map(values => values[i]));
    const table = UI.table({columns, rows, search: "Search the members", id: "members-table", name: "Members",
      filter: {keep: row => selected === NOWHERE ? row[odd] === 1 : row[at] === selected, name: () => selected === null ? null : called(selected), clear: () => select(selected)}});
    const chosen = el("span", {class: "chosen"});
    table.tools.append(chosen);
    listeners.push(() => {
      chosen.replaceChildren(...(selected === null ? [] : ["Only ", ...which(selected), el("button", {class: "plain", type: "button", onclick: () => select(selected)}, "Show all")]));
      table.update();
    });
    return table.node;
  }

  // ---- the page ------------------------------------------------------------------------
  const main = UI.shell({title: d.title, lead: `${count(d.n, "sample")}${d.columns ? " with " + count(d.columns, "column") : ""}, clustered by ${d.method} on ${d.made}.`});
  main.append(answer());
  const tiles = [];
  if (d.graph && k > 1) tiles.push({label: "Graph within clusters", value: percent(d.graph.within), note: `${count(d.graph.links, "link")}, ${number(d.graph.median_degree)} per sample`});
  if (k > 1) tiles.push({label: "Clearly assigned", value: d.clear, note: "certainty of at least 50\u00a0%"});
  if (d.summary.stability !== null) tiles.push({label: d.summary.by === "candidates" ? "Ways to cluster agree" : "Found again", value: UI.fixed(d.summary.stability, 2), note: "from 0, chance, to 1, the same"});
  if (d.nowhere) tiles.push({label: "Fit nowhere", value: number(d.nowhere), note: percent(d.nowhere / d.n) + " of the samples"});
  if (d.scores) tiles.push({label: "Accuracy", value: percent(d.scores.accuracy), note: `NMI ${percent(d.scores.nmi)}, purity ${percent(d.scores.purity)}, ARI ${number(d.scores.ari)}`});
  if (d.seconds !== null) tiles.push({label: "Time", value: d.seconds < 1 ? number(Math.round(d.seconds * 1000)) + " ms" : number(+d.seconds.toFixed(1)) + " s", note: d.n_iter ? count(d.n_iter, "iteration") + (d.converged === false ? ", not converged" : "") : null});
  if (tiles.length > 1) main.append(UI.tiles(tiles));

  if (d.plane.how !== "none") main.append(UI.section("map", "Map", null, drawMap()));
  const evidence = d.evidence && UI.section("evidence", `Why ${d.evidence.chosen}`, d.evidence.chosen > 1 ? `The evidence for each number of clusters${d.evidence.second ? `; next best is ${d.evidence.second}` : ""}.` : "The evidence for each number of clusters: none is beyond what samples without clusters show.", whyPicture());
  const levels = d.levels && d.levels.merges.length && UI.section("levels", "Every number of clusters", "Clusters merge and split along one tree; nothing is fitted anew. Move the slider to see them on the map.", levelsPicture());

  const graph = d.graph && UI.section("graph", "Learned graph", "Samples in the order of their clusters; filled cells are edges. Blocks along the diagonal, and little else, are good.", matrix());
  const weights = (id, title, lead, rows) => {
    const heavy = rows.filter(([, value]) => value >= .0005), light = rows.length - heavy.length;
    return UI.section(id, title, lead, heavy.length > 1 || id === "kernels" ? UI.bars(title, heavy.map(([name, value]) => ({name, value}))) : null,
      light && id === "kernels" ? el("p", {class: "small"}, `${count(light, "other kernel has", "other kernels have")} no weight.`) : null);
  };
  const kernels = d.weights.length ? weights("kernels", "Kernel weights", "How much each kernel contributes.", d.weights) : null;
  const geometries = d.distances ? weights("distances", "How distances are measured", d.distances.words, d.distances.rows) : null;
  const spectrum = d.spectrum && UI.section("spectrum", "Spectrum", d.spectrum.gap === null ? "The smallest eigenvalues of the graph." : "The smallest eigenvalues of the graph; a wide gap after the number of clusters speaks for it.",
    UI.line({series: [{values: d.spectrum.values, name: "Eigenvalue"}], xlabel: "number", ylabel: "eigenvalue", zero: true, label: "Eigenvalues", height: evidence || geometries ? 200 : 330,
      marks: d.spectrum.gap === null ? [] : [{from: d.spectrum.count, to: d.spectrum.count + 1, text: `gap ${number(d.spectrum.gap)}`}]}));
  const beside = [evidence, geometries, spectrum].filter(Boolean);
  if (levels) main.append(levels);
  if (graph) main.append(el("div", {class: beside.length ? "two" : null}, graph, beside.length && el("div", {class: "stack"}, beside)));
  else beside.forEach(part => main.append(part));

  const related = d.tree && !levels && k <= 60 && UI.section("related", "How the clusters relate", d.tree.by === "features" ? "Which are nearest in the means of their columns: the further right two meet, the more alike they are."
    : "Which share most edges of the graph: the further right two meet, the more they share.", tree());
  const across = d.heat && UI.section("heat", "Clusters by columns", `How far each cluster lies above (green) or below (brown) the rest, in standard deviations; the ${count(d.heat.names.length, "column")} that ${d.heat.names.length === 1 ? "tells" : "tell"} clusters apart most.${k > 60 ? " The first 60 clusters." : ""} Click a column for its values.`, heat());
  if (across) main.append(across);
  if (k > 1) main.append(UI.section("clusters", "Clusters", "Certainty is the lead of a sample's own cluster over the next best one.", cards()));
  if (d.beside.length) main.append(UI.section("beside", "Columns beside the clusters", "They did not make the clusters; what they are in each of them.", UI.table({name: "Columns beside the clusters", size: 30,
    columns: [{label: "cluster", number: true}, ...d.beside.map(part => ({label: part.name}))], rows: d.sizes.map((_, c) => [c, ...d.beside.map(part => part.words[c])])}).node));

  const extra = related ? [related] : [];
  if (kernels) extra.push(kernels);
  if (d.objective.length) extra.push(UI.section("objective", "Objective", `Its value after each iteration.${d.objective_words}`, UI.line({series: [{values: d.objective, name: "Objective"}], xlabel: "iteration", ylabel: "objective", label: "Objective"})));
  while (extra.length > 1) main.append(el("div", {class: "two"}, extra.shift(), extra.shift()));
  if (extra.length) main.append(extra[0]);

  main.append(UI.section("members", "Members", shownCount < d.n ? `An even part of each cluster, ${number(shownCount)} of ${number(d.n)} samples; the file of labels has all.` : null, members()));

  const again = UI.section("redo", "How to do it again", null);
  if (d.redo.command) again.append(el("h3", {}, "On the command line"), UI.code(d.redo.command));
  if (d.redo.python) again.append(el("h3", {}, "In Python"), UI.code(d.redo.python));
  again.append(el("h3", {}, "Versions"), UI.facts(d.redo.versions));
  if (d.redo.parameters.length) again.append(el("details", {}, el("summary", {}, "All parameters"), UI.facts(d.redo.parameters)));
  main.append(again);
  main.classList.toggle("few", k <= 12);
  document.documentElement.dataset.ready = "yes";
})();
