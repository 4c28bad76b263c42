/** Example code that verifies a callback, by language. */
export const VERIFICATION_CODE: readonly { readonly language: string; readonly code: string }[] = [
  {
    language: "JavaScript",
    code: `import { Webhook } from "standardwebhooks"; // npm install standardwebhooks

const webhook = new Webhook(process.env.CALLBACK_SECRET);

export async function receive(request) {
  const body = await request.text(); // the raw body, before anything parses it
  const task = webhook.verify(body, Object.fromEntries(request.headers)); // throws
  return new Response(null, { status: 204 });
}`,
  },
  {
    language: "Python",
    code: `import os
from flask import Flask, request
from standardwebhooks.webhooks import Webhook  # pip install standardwebhooks

app = Flask(__name__)
webhook = Webhook(os.environ["CALLBACK_SECRET"])

@app.post("/hook")
def receive():
    body = request.get_data()  # the raw body, before anything parses it
    task = webhook.verify(body, dict(request.headers))  # raises
    return "", 204`,
  },
  {
    language: "Go",
    code: `import (
	"io"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the raw body, before anything parses it
	webhook, _ := standardwebhooks.NewWebhook(os.Getenv("CALLBACK_SECRET"))
	if err := webhook.Verify(body, r.Header); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}`,
  },
  {
    language: "PHP",
    code: `<?php
// composer require standard-webhooks/standard-webhooks
$webhook = new \\StandardWebhooks\\Webhook(getenv('CALLBACK_SECRET'));
$body = file_get_contents('php://input'); // the raw body, before anything parses it
$task = $webhook->verify($body, array_change_key_case(getallheaders())); // throws
http_response_code(204);`,
  },
];
