// A page that is served asks for its successor and puts it in its place; where you have zoomed to stays.

if (root.dataset.live !== undefined) setInterval(refresh, 2000);

let tag = null;

async function refresh() {
  if (document.hidden) return;
  let answer;
  try {
    answer = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
  } catch {
    root.dataset.stale = app.words.stale;
    return;
  }
  delete root.dataset.stale;
  if (answer.status === 304 || !answer.ok) return;
  tag = answer.headers.get("ETag");
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const place = window.scrollY;
  document.querySelector("main").replaceWith(document.adoptNode(fresh.querySelector("main")));
  document.title = fresh.title;
  root.dataset.state = fresh.documentElement.dataset.state;
  await boot();
  window.scrollTo(0, place);
}
