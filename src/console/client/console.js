// The script of every page. All pages work without it.

document.documentElement.dataset["scripted"] = "";
