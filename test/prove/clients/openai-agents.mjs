import { equal, ok } from 'node:assert/strict'
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import { z } from 'zod'

/** A turn, a call of a function, and a second turn, in both modes of the client. */
setTracingDisabled(true)
const { SHOAL_URL, SHOAL_KEY } = process.env

for (const useResponses of [false, true]) {
  const asked = []
  const look = tool({
    name: 'look',
    description: 'Looks up a cell.',
    parameters: z.object({ deep: z.boolean() }),
    execute: input => {
      asked.push(input)
      return 'the cell is ready'
    },
  })
  const modelProvider = new OpenAIProvider({
    baseURL: `${SHOAL_URL}/v1`,
    apiKey: SHOAL_KEY,
    useResponses,
  })
  const runner = new Runner({ modelProvider })
  const settings = { maxTokens: 200, temperature: 0 }
  const agent = new Agent({
    name: 'shoal',
    instructions: 'Answer briefly.',
    model: 'model-a:7b',
    modelSettings: { ...settings, toolChoice: 'required' },
    tools: [look],
  })
  const first = await runner.run(agent, 'What is a cell?')
  const plain = new Agent({ name: 'plain', model: 'model-a:7b', modelSettings: settings })
  const second = await runner.run(plain, [
    ...first.history,
    { role: 'user', content: 'What is a gate?' },
  ])
  const third = await runner.run(
    plain,
    [...second.history, { role: 'user', content: 'And a tier?' }],
    { stream: true },
  )
  await third.completed
  equal(asked.length, 1)
  for (const { finalOutput } of [first, second, third]) ok(finalOutput)
  console.log(
    JSON.stringify({
      client: '@openai/agents',
      mode: useResponses ? 'responses' : 'chat',
      turn: String(first.finalOutput),
      calls: asked.length,
      second_turn: String(second.finalOutput),
      streamed: String(third.finalOutput),
    }),
  )
}
