// Browsers start no Worker from a folder (file://). There, a hidden frame that runs the same script takes its place: what
// the search of the pages needs, postMessage both ways and importScripts.
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame;
      const inside = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source === inside) this.tell(new MessageEvent("message", { data: event.data }));
      });
      inside.document.open();
      inside.document.write(`<!doctype html><script>
        postMessage = (data) => parent.dispatchEvent(new MessageEvent("message", { data, source: window }));
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = done;
          script.onerror = failed;
          document.head.appendChild(script);
        })), Promise.resolve());
      <\/script>`);
      const script = inside.document.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      script.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      script.onerror = () => this.tell(new Event("error"));
      inside.document.head.appendChild(script);
      inside.document.close();
    }

    tell(event) {
      this.dispatchEvent(event);
      const handler = this["on" + event.type];
      if (handler) handler.call(this, event);
    }

    postMessage(data) {
      const inside = this.frame.contentWindow;
      if (this.ready) inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.Worker = FrameWorker;
})();
