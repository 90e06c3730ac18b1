// Colours: those of the page come from its style sheet, so that dark, light and print are decided in one place.

const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [109, 205, 89],
  [180, 222, 44], [253, 231, 37],
];

function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const below = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[below].map((part, i) => Math.round(part + (VIRIDIS[below + 1][i] - part) * (at - below)));
}

function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ink", "muted", "rule", "surface", "lost", "alarm", "limit", "mark", "wash"];
  const found = Object.fromEntries(names.map((name) => [name, colour(name)]));
  found.lines = [1, 2, 3, 4, 5].map((place) => colour(`line-${place}`));
  found.dark = style.getPropertyValue("--dark").trim() === "1";
  return found;
}

// Shares of the ramp that stand out from the paper: WCAG asks for a contrast of 3 to 1.
const RAMP = { light: [0, 0.55], dark: [0.42, 1] };

// A few series get colours that are told apart; many layers get a ramp, so that depth can be read.
function seriesColour(place, count, colours) {
  if (count <= colours.lines.length) return colours.lines[place];
  const [low, high] = colours.dark ? RAMP.dark : RAMP.light;
  return `rgb(${viridis(low + ((high - low) * place) / (count - 1)).join(",")})`;
}
