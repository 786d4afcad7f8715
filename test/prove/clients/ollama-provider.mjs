import { ok } from 'node:assert/strict'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { createOllama } from 'ollama-ai-provider-v2'
import { z } from 'zod'

/**
 * A turn with a function, which the model may leave unused as Ollama's API forces none, and a second
 * turn.
 */
const { SHOAL_URL, SHOAL_KEY } = process.env
const ollama = createOllama({
  baseURL: `${SHOAL_URL}/api`,
  headers: { authorization: `Bearer ${SHOAL_KEY}` },
})
const model = ollama('model-a:7b')
let calls = 0
const look = tool({
  description: 'Looks up a cell.',
  inputSchema: z.object({ deep: z.boolean() }),
  execute: () => {
    calls++
    return 'the cell is ready'
  },
})
const messages = [{ role: 'user', content: 'What is a cell?' }]
const first = await generateText({
  model,
  messages,
  temperature: 0,
  maxOutputTokens: 48,
  tools: { look },
  stopWhen: stepCountIs(2),
})
messages.push(...first.response.messages, { role: 'user', content: 'What is a gate?' })
const second = streamText({ model, messages, temperature: 0, maxOutputTokens: 48 })
let text = ''
for await (const piece of second.textStream) text += piece
ok(first.text && text)
console.log(
  JSON.stringify({ client: 'ollama-ai-provider-v2', turn: first.text, calls, second_turn: text }),
)
