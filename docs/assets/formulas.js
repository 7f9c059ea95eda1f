// Sets the formulas of a page: arithmatex leaves \(…\) in a span and \[…\] in a div.
document.querySelectorAll(".arithmatex").forEach((place) => {
  katex.render(place.textContent.trim().slice(2, -2), place, { displayMode: place.tagName === "DIV", throwOnError: false });
});
