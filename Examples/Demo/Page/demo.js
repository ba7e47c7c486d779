// Connects the parts of the page.
import { follow } from "./events.js";
import { Phone } from "./phone.js";
import { Server } from "./server.js";

const phones = new Map();
const server = new Server(document.getElementById("server"), phones);

follow("/events", {
  phones: processes => {
    for (const process of processes) {
      if (!phones.has(process.name)) {
        phones.set(process.name, new Phone(document.getElementById(process.name), () => server.compare()));
      }
      phones.get(process.name).present(process);
    }
  },
  space: state => server.showSpace(state),
  records: count => server.showRecords(count),
  commit: commit => server.showCommit(commit),
  feed: difference => server.showFeed(difference),
  mirror: report => server.showMirror(report),
}, () => server.open(), () => server.lose());

// For tests and for curious people.
window.demo = { phones, server };
