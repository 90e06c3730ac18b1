// The picture of the path: a node shows its question, zooms to what it rests on, and is reached with the arrow keys.

function nodes() {
  return [...document.querySelectorAll("a.node")];
}

// Of all nodes one takes part in the order of the Tab key: the one that was chosen, or the first that leads to the verdict.
function rove(chosen) {
  for (const node of nodes()) node.tabIndex = node === chosen ? 0 : -1;
}

function showQuestion(node) {
  for (const other of nodes()) other.classList.toggle("on", other === node);
  rove(node);
  const question = document.getElementById(node.getAttribute("href").slice(1));
  const copy = question.cloneNode(true);
  copy.removeAttribute("id");
  document.getElementById("chosen").replaceChildren(...copy.childNodes);
  const { start, end, panel } = node.dataset;
  if (start !== undefined) zoomTo(Number(start), end === undefined ? null : Number(end), panel);
}

document.addEventListener("click", (event) => {
  const node = event.target.closest("a.node");
  if (!node) return;
  event.preventDefault();
  showQuestion(node);
  // Whoever came with the keyboard goes on to the evidence, and back with Escape.
  if (event.detail === 0) document.getElementById("chosen").focus();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest("#chosen")) document.querySelector("a.node.on")?.focus();
  const node = event.target.closest("a.node");
  if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = nodes();
  const at = all.indexOf(node);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (event.key === " ") node.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  else if (to === undefined) return;
  else {
    const next = all[Math.max(0, Math.min(all.length - 1, to))];
    rove(next);
    next.focus();
  }
  event.preventDefault();
});
