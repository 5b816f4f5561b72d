"use strict";
// Shared by all pages. Data become text nodes and whitelisted attributes, never markup.
const UI = (() => {
  // The page as it came, before anything is drawn: to be saved again with what was changed on it.
  const source = "<!doctype html>\n" + document.documentElement.outerHTML;
  const SVG = "http://www.w3.org/2000/svg";
  const root = document.documentElement;
  const listeners = [];

  // ---- elements -------------------------------------------------------------------------
  function fill(node, props, children) {
    for (const [key, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") {
        if (!key.startsWith("on")) throw new Error("a function is only for an event: " + key);
        node.addEventListener(key.slice(2), value);
      } else if (/^on|^style$|^srcdoc$/i.test(key)) throw new Error("attribute refused: " + key);
      else if (key === "href" && !String(value).startsWith("#")) throw new Error("link refused");
      else if (key === "src" && !String(value).startsWith("data:image/png;base64,")) throw new Error("picture refused");
      else node.setAttribute(key, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  }
  const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);
  const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

  // ---- numbers and words ----------------------------------------------------------------
  // Thousands and decimals as the reader writes them; plain English where the browser knows no better.
  const formats = new Map();
  function written(value, options) {
    const key = Object.entries(options).join();
    if (!formats.has(key)) {
      let made;
      try { made = new Intl.NumberFormat(undefined, options); } catch (error) { made = new Intl.NumberFormat("en", options); }
      formats.set(key, made);
    }
    return formats.get(key).format(value).replace("-", "−").replace(/^−(?=[0.,]+$)/, "");
  }
  const whole = {format: value => written(value, {maximumFractionDigits: 0})};
  // Sentences come with numbers in English: 1,234.5. Those of the reader take their places.
  const localise = text => text.replace(/(?<![\w.,=])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?![\w.=]|,\d)/g, found => {
    const decimals = (found.split(".")[1] || "").length;
    return written(Number(found.replaceAll(",", "")), {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  }).replace(/(\d) %/g, "$1\u00a0%");
  function number(value, digits = 3) {
    if (value === null || value === undefined || value === "") return "–";
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return whole.format(value);
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2).replaceAll("-", "−");
    return written(value, {maximumSignificantDigits: Math.max(digits, size >= 1 ? Math.floor(Math.log10(size)) + 2 : digits)});
  }
  // So many decimals, thousands apart.
  function fixed(value, decimals) {
    if (value === null || value === undefined) return "–";
    if (Math.abs(value) >= 1e9) return number(value);
    return written(value, {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  }
  const percent = (value, digits = 1) => value === null || value === undefined ? "–" : fixed(100 * value, digits) + "\u00a0%";
  const count = (n, one, many) => whole.format(n) + " " + (n === 1 ? one : many || one + "s");

  // A long name with its beginning and its end: names of one table often begin alike.
  const short = (name, most) => name.length > most ? name.slice(0, Math.ceil(most / 2) - 1) + "…" + name.slice(-Math.floor(most / 2)) : name;

  // ---- colours --------------------------------------------------------------------------
  const css = name => getComputedStyle(root).getPropertyValue(name).trim();
  const mix = (stops, t) => {
    const u = Math.min(.9999, Math.max(0, t)) * (stops.length - 1), i = Math.floor(u);
    return `rgb(${stops[i].map((a, k) => Math.round(a + (u - i) * (stops[i + 1][k] - a))).join(",")})`;
  };
  // Amounts from dark to light, and differences from less to more; readable on light and dark paper.
  const AMOUNTS = [[38, 42, 82], [42, 88, 128], [32, 134, 138], [94, 177, 115], [200, 210, 88], [250, 231, 120]];
  const DIFFERENCES = [[160, 96, 8], [226, 178, 96], [238, 238, 234], [112, 184, 188], [6, 104, 112]];
  const amount = t => mix(AMOUNTS, t), difference = t => mix(DIFFERENCES, (t + 1) / 2);
  // Between two colours of the style sheet, written as #rrggbb.
  const between = (from, to, t) => mix([from, to].map(name => css(name).match(/[0-9a-f]{2}/gi).map(part => parseInt(part, 16))), t);
  // Black or white, whichever can be read on a colour: the contrast is never below 4.5.
  const channel = v => v <= 10 ? v / 3294 : ((v / 255 + .055) / 1.055) ** 2.4;
  const inkOn = colour => { const [r, g, b] = colour.match(/\d+/g).map(Number).map(channel); return .2126 * r + .7152 * g + .0722 * b > .179 ? "#000000" : "#ffffff"; };

  // ---- light and dark -------------------------------------------------------------------
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const printing = matchMedia("print");
  let chosen = null;
  function applyTheme() {
    const wanted = printing.matches ? "light" : chosen || (dark.matches ? "dark" : "light");
    if (root.dataset.theme === wanted) return;
    root.dataset.theme = wanted;
    listeners.forEach(redraw => redraw());
  }
  dark.addEventListener("change", applyTheme);
  printing.addEventListener("change", applyTheme);
  addEventListener("beforeprint", applyTheme);
  addEventListener("afterprint", applyTheme);
  applyTheme();

  // ---- the frame of a page --------------------------------------------------------------
  let main, nav;
  function shell({title, lead, controls}) {
    nav = el("nav", {"aria-label": "Sections"});
    const toggle = el("button", {class: "plain", type: "button", id: "theme", onclick: () => {
      chosen = root.dataset.theme === "dark" ? "light" : "dark";
      applyTheme();
      label();
    }});
    const label = () => { toggle.textContent = root.dataset.theme === "dark" ? "Light" : "Dark"; };
    label();
    listeners.push(label);
    main = el("main", {}, el("header", {class: "title"}, el("h1", {id: "title"}, title), lead && el("p", {class: "lead", id: "about"}, lead)));
    document.body.append(
      el("div", {class: "bar"}, el("div", {}, el("span", {class: "mark"}, "unispectral"), nav, toggle), controls && el("div", {class: "controls"}, controls)),
      main, el("div", {id: "tip", role: "tooltip"}));
    return main;
  }
  // What sections are called in the bar, where their titles are long.
  const SHORT = {answer: "Answer", levels: "Tree", graph: "Graph", heat: "Columns", beside: "Beside", redo: "Again"};
  function section(id, title, lead, ...children) {
    if (nav && id) nav.append(el("a", {href: "#" + id}, SHORT[id] || title));
    return el("section", {id}, el("h2", {}, title), lead && el("p", {class: "lead"}, lead), ...children);
  }
  const tiles = items => el("div", {class: "tiles"}, items.map(item =>
    el("div", {class: "tile"}, el("span", {class: "label"}, item.label), el("b", {}, item.value), item.note && el("span", {}, item.note))));
  const notes = items => el("ul", {class: "notes"}, items.map(item => el("li", {class: item.level || "warn"}, item.text)));
  function code(text) {
    const button = el("button", {class: "plain", type: "button", onclick: () => {
      const range = document.createRange();
      range.selectNodeContents(pre);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      let done = false;
      try { done = document.execCommand("copy"); } catch (error) { done = false; }
      button.textContent = done ? "Copied" : "Selected";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    }}, "Copy");
    const pre = el("pre", {tabindex: "0"}, text);
    return el("div", {class: "code"}, button, pre);
  }

  // A row of radio buttons: options are [value, label].
  const choice = (name, id, options, chosen, onpick) => el("div", {class: "choice", id}, options.map(([value, label]) =>
    el("label", {}, el("input", {type: "radio", name, value, checked: value === chosen, onchange: () => onpick(value)}), el("span", {}, label))));
  const facts = pairs => el("dl", {class: "facts"}, pairs.map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)]));

  // ---- the hint beside the pointer ------------------------------------------------------
  function tip(event, lines) {
    const box = document.getElementById("tip");
    if (!lines || !lines.length) { box.className = ""; return; }
    box.replaceChildren(...lines.map(line => el("div", {}, line)));
    box.className = "on";
    const x = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
    const y = event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 10 : event.clientY + 18;
    box.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
  }

  // Whatever has the attribute data-tip says it when pointed at.
  document.addEventListener("pointermove", event => {
    const held = event.target.closest && event.target.closest("[data-tip]");
    if (held) tip(event, [held.getAttribute("data-tip")]);
  });
  document.addEventListener("pointerout", event => { if (event.target.closest && event.target.closest("[data-tip]")) tip(event, null); });

  // ---- figures that can be taken away -----------------------------------------------------
  function save(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) + "." + {"text/csv": "csv", "image/svg+xml": "svg", "image/png": "png", "text/html": "html"}[blob.type];
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  // A cell that a spreadsheet would run as a formula becomes text.
  const cell = value => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value);
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = rows => new Blob(["\ufeff" + rows.map(row => row.map(cell).join(",")).join("\r\n") + "\r\n"], {type: "text/csv"});
  const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
  // A drawing by itself: its style sheet stays behind, so that each element gets what it had of it.
  function standalone(art) {
    const copy = art.cloneNode(true), [, , width, height] = art.getAttribute("viewBox").split(" ").map(Number);
    const old = [art, ...art.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
      const style = getComputedStyle(old[i]);
      // What is not part of the page has no style but its own attributes.
      for (const name of KEPT) if (style.getPropertyValue(name)) node.setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "style", "data-tip", "tabindex"]) node.removeAttribute(name);
    });
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.prepend(svg("rect", {width, height, fill: css("--card")}));
    return new XMLSerializer().serializeToString(copy);
  }
  function picture(text, done) {
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas", {width: 2 * image.width, height: 2 * image.height});
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(done, "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }
  // art: an <svg> or a function that makes one (of a canvas); rows: what it shows, with a heading.
  function figure(name, shown, rows, art = shown) {
    const drawn = () => standalone(typeof art === "function" ? art() : art.matches("svg") ? art : art.querySelector("svg"));
    const button = (label, press) => el("button", {type: "button", "aria-label": `${label} of ${name}`, onclick: press}, label);
    return el("figure", {class: "figure"}, shown, el("div", {class: "exports"},
      art && button("PNG", () => picture(drawn(), blob => save(name, blob))),
      art && button("SVG", () => save(name, new Blob([drawn()], {type: "image/svg+xml"}))),
      rows && button("CSV", () => save(name, csv(rows())))));
  }

  // ---- a table: searched, sorted, a page at a time --------------------------------------
  // columns: [{label, number?, format?(value, row) -> text or node, value?(row) -> sort key}], rows: arrays
  // filter: {keep(row), name() -> text or null when it lets everything through, clear()}
  function table({columns, rows, size = 25, search = null, filter = null, id = null, name = "Table"}) {
    let shown = rows, page = 0, sorted = -1, up = true, query = "";
    const key = (row, c) => columns[c].value ? columns[c].value(row) : row[c];
    const heads = columns.map((column, c) => el("th", {class: column.number ? "number" : null, scope: "col"},
      el("button", {type: "button", onclick: () => { up = sorted === c ? !up : !column.number; sorted = c; page = 0; update(); }}, column.label)));
    const hint = el("span", {class: "hint", role: "status"}), body = el("tbody"), where = el("span", {class: "where"});
    const back = el("button", {class: "plain", type: "button", onclick: () => { page--; draw(); }}, "Back");
    const next = el("button", {class: "plain", type: "button", onclick: () => { page++; draw(); }}, "Next");
    const box = search && el("input", {type: "search", placeholder: search, "aria-label": search, oninput: () => { query = box.value.toLowerCase(); page = 0; update(); }});
    function update() {
      const found = query ? rows.filter(row => row.some(value => value !== null && String(value).toLowerCase().includes(query))) : rows;
      const by = filter && filter.name();
      shown = by ? found.filter(filter.keep) : found;
      const hidden = found.length - shown.length;
      hint.replaceChildren(...(query && hidden ? [`“${box.value}” is found ${count(hidden, "more time", "more times")}, hidden by the filter “${by}”.`, el("button", {class: "plain", type: "button", onclick: filter.clear}, "Show all")]
        : query ? [`${whole.format(shown.length)} of ${whole.format(rows.length)} found${by ? `, the filter “${by}” hides none` : ""}.`] : []));
      if (sorted >= 0) {
        const sign = up ? 1 : -1;
        shown = shown.map((row, i) => [key(row, sorted), i, row]).sort((a, b) => {
          if (a[0] === b[0]) return a[1] - b[1];
          if (a[0] === null || a[0] === undefined) return 1;
          if (b[0] === null || b[0] === undefined) return -1;
          const order = typeof a[0] === "number" && typeof b[0] === "number" ? a[0] - b[0] : String(a[0]).localeCompare(String(b[0]), "en", {numeric: true});
          return sign * order || a[1] - b[1];
        }).map(item => item[2]);
      }
      heads.forEach((head, c) => c === sorted ? head.setAttribute("aria-sort", up ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
      draw();
    }
    function draw() {
      const pages = Math.max(1, Math.ceil(shown.length / size));
      page = Math.max(0, Math.min(page, pages - 1));
      const part = shown.slice(page * size, (page + 1) * size);
      body.replaceChildren(...(part.length ? part.map(row => el("tr", {},
        columns.map((column, c) => el("td", {class: column.number ? "number" : null},
          column.format ? column.format(row[c], row) : column.number ? number(row[c]) : row[c] === null ? "–" : row[c])))) :
        [el("tr", {}, el("td", {colspan: columns.length}, "Nothing found."))]));
      where.textContent = shown.length ? `${whole.format(page * size + 1)}–${whole.format(page * size + part.length)} of ${whole.format(shown.length)}` : "0 of " + whole.format(rows.length);
      back.disabled = page === 0;
      next.disabled = page >= pages - 1;
    }
    const tools = el("div", {class: "tools"}, box, hint);
    const node = el("div", {id, class: "table"}, tools, el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, heads)), body)),
      rows.length > size && el("div", {class: "pager"}, back, next, where));
    const all = () => [columns.map(column => column.label), ...shown.map(row => row.map((value, c) => columns[c].text ? columns[c].text(row) : value))];
    node.append(figure(name, null, all, null));
    update();
    return {node, tools, update: () => { page = 0; update(); }};
  }

  // ---- bars and lines -------------------------------------------------------------------
  // items: [{name, value, text?, colour?, onclick?}]
  function bars(name, items, {largest = null} = {}) {
    const top = largest || Math.max(...items.map(item => item.value || 0), 1e-300);
    const rows = () => [["name", "value"], ...items.map(item => [item.name, item.value])];
    return figure(name, el("div", {class: "bars"}, items.map(item => {
      const filled = el("div", {class: "fill"});
      filled.style.width = Math.max(0, Math.min(100, 100 * (item.value || 0) / top)) + "%";
      if (item.colour) filled.style.background = item.colour;
      const cells = [el("div", {class: "name", title: item.name}, item.name), el("div", {class: "track"}, filled), el("div", {class: "value"}, item.text || number(item.value))];
      return item.onclick ? el("button", {type: "button", onclick: item.onclick, "aria-label": `${item.name}: ${item.text || number(item.value)}`}, cells) : cells;
    })), rows, () => {
      const row = 22, left = 8 + 7 * Math.min(30, Math.max(...items.map(item => item.name.length)));
      return svg("svg", {viewBox: `0 0 ${left + 420} ${row * items.length + 8}`, "font-family": css("--sans"), "font-size": 12}, items.map((item, i) => [
        svg("text", {x: left - 8, y: row * i + 18, "text-anchor": "end", fill: css("--ink")}, item.name.slice(0, 30)),
        svg("rect", {x: left, y: row * i + 6, height: 15, width: 300 * Math.max(0, item.value || 0) / top, fill: item.colour || css("--accent")}),
        svg("text", {x: left + 306, y: row * i + 18, fill: css("--soft")}, item.text || number(item.value))]));
    });
  }
  function ticks(low, high, wanted = 5) {
    if (!(high > low)) return [low];
    const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(f => f * power).find(s => s >= raw * 0.999);
    const found = [];
    for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) found.push(+t.toPrecision(12));
    return found;
  }
  // series: [{values, name?, colour?}]; marks: [{from, to, text}] bands of x; x starts at `first`
  function line({series, xlabel, ylabel, first = 1, marks = [], points = true, zero = false, width = innerWidth < 736 ? 380 : 520, height = 260, label = "chart"}) {
    const all = series.flatMap(s => s.values).filter(v => v !== null && Number.isFinite(v));
    const longest = Math.max(...series.map(s => s.values.length));
    let low = Math.min(...all), high = Math.max(...all);
    if (zero) low = Math.min(0, low);
    if (!(high > low)) { high = low + Math.max(Math.abs(low) * .1, 1e-12); low -= zero ? 0 : Math.max(Math.abs(low) * .1, 1e-12); }
    const pad = (high - low) * .06;
    if (!zero) low -= pad;
    high += pad;
    const marked = ticks(low, high), letters = Math.max(...marked.map(t => number(t).length));
    const box = {left: Math.max(62, 32 + 7 * letters), right: 14, top: 24, bottom: 44};
    const px = i => box.left + (longest > 1 ? i / (longest - 1) : .5) * (width - box.left - box.right);
    const py = v => height - box.bottom - (v - low) / (high - low) * (height - box.top - box.bottom);
    const art = svg("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
    for (const t of marked) art.append(
      svg("line", {class: "grid", x1: box.left, x2: width - box.right, y1: py(t), y2: py(t)}),
      svg("text", {x: box.left - 8, y: py(t) + 4, "text-anchor": "end"}, number(t)));
    for (const t of ticks(first, first + longest - 1, Math.min(8, longest)).filter(Number.isInteger)) art.append(
      svg("text", {x: px(t - first), y: height - box.bottom + 18, "text-anchor": "middle"}, number(t)));
    for (const mark of marks) art.append(
      svg("rect", {class: "mark", x: px(mark.from - first), width: Math.max(2, px(mark.to - first) - px(mark.from - first)), y: box.top, height: height - box.top - box.bottom}),
      svg("text", {class: "marktext", x: Math.max(box.left + 30, Math.min(width - 50, (px(mark.from - first) + px(mark.to - first)) / 2)), y: box.top - 8, "text-anchor": "middle"}, mark.text));
    art.append(svg("line", {class: "axis", x1: box.left, x2: width - box.right, y1: height - box.bottom, y2: height - box.bottom}));
    for (const s of series) {
      const known = s.values.map((v, i) => [v, i]).filter(([v]) => v !== null && Number.isFinite(v));
      const path = svg("path", {class: "line", d: known.map(([v, i], n) => (n ? "L" : "M") + px(i).toFixed(1) + " " + py(v).toFixed(1)).join("")});
      if (s.colour) path.style.stroke = s.colour;
      art.append(path);
      if (points && longest <= 80) for (const [v, i] of known) {
        const dot = svg("circle", {class: "point", cx: px(i).toFixed(1), cy: py(v).toFixed(1), r: 3});
        if (s.colour) dot.style.fill = s.colour;
        const hit = svg("circle", {cx: px(i).toFixed(1), cy: py(v).toFixed(1), r: 9, fill: "transparent",
          onpointermove: event => tip(event, [s.name || ylabel, `${xlabel} ${i + first}: ${number(v, 5)}`]), onpointerleave: event => tip(event, null)});
        art.append(dot, hit);
      }
    }
    art.append(svg("text", {x: (box.left + width - box.right) / 2, y: height - 6, "text-anchor": "middle"}, xlabel),
      svg("text", {x: -(box.top + height - box.bottom) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle"}, ylabel));
    const rows = () => [[xlabel, ...series.map(s => s.name || ylabel)], ...Array.from({length: longest}, (_, i) => [i + first, ...series.map(s => s.values[i])])];
    return figure(label, art, rows);
  }

  return {
    get data() { return JSON.parse(document.getElementById("data").textContent); },
    get main() { return main; },
    source, save, fixed, localise, el, svg, number, percent, count, short, css, amount, difference, between, inkOn, shell, section, tiles, notes, code, choice, facts, tip, table, bars, line, ticks, figure,
    onTheme: redraw => listeners.push(redraw),
    dot: colour => { const node = el("span", {class: "dot"}); node.style.background = colour; return node; },
  };
})();
