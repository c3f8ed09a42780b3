// Times in the reader's own time zone, whatever that of the hub is, in the language of the pages.

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

function inWords(moment) {
  const isToday = moment.toDateString() === new Date().toDateString();
  return isToday ? clock.format(moment) : `${day.format(moment)}, ${clock.format(moment)}`;
}

// at: seconds since 1970 (UTC).
export function timeElement(at) {
  const element = document.createElement("time");
  const moment = new Date(at * 1000);
  element.dateTime = moment.toISOString();
  element.dataset.at = at;
  element.title = whole.format(moment);
  element.textContent = inWords(moment);
  return element;
}

// Fills a text such as "about {0}" with times.
export function withTimes(text, times) {
  return text.split(/(\{\d+\})/).map((part) => {
    const number = /^\{(\d+)\}$/.exec(part);
    return number && times[number[1]] !== undefined ? timeElement(times[number[1]]) : part;
  });
}

// Rewrites the times in a part of a page.
export function localise(root) {
  for (const element of root.querySelectorAll("time[data-at]")) {
    element.replaceWith(timeElement(Number(element.dataset.at)));
  }
}

localise(document);
