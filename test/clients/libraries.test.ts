import t from 'tap'
import { startStack } from '../support/stack.ts'
import { aiSdk } from './libraries/ai-sdk.ts'
import { langchain } from './libraries/langchain.ts'
import type { Library } from './libraries/library.ts'
import { testOllama, testOpenWebUi } from './libraries/ollama.ts'
import { openaiChat } from './libraries/openai-chat.ts'
import { openaiResponses } from './libraries/openai-responses.ts'

const MODEL = 'model-a:7b'
const QUESTION = 'What is a cell?'

/** One stack and one process for all of them: starting them costs more than the calls. */
t.test('unmodified client libraries', async t => {
  const stack = await startStack()
  const { url, keys, stop } = stack
  t.teardown(stop)
  t.test('ollama', t => testOllama(t, stack))
  t.test('the calls of Open WebUI to an Ollama server', t => testOpenWebUi(t, stack))
  const base = `${url}/v1`
  const createLibraries = (key: string): Library[] => [
    openaiChat(base, key),
    openaiResponses(base, key),
    ...aiSdk(base, key),
    ...langchain(base, key),
  ]
  const [strangers, free] = [createLibraries('svc-dev-nobody'), createLibraries(keys.free)]

  for (const [index, library] of createLibraries(keys.enterprise).entries()) {
    const { finishes } = library
    t.test(library.name, async t => {
      t.test('gets an answer with its finish reason and usage', async t => {
        const { text, finish, inputTokens, outputTokens } = await library.chat({
          model: MODEL,
          text: QUESTION,
        })
        t.match(text, /machine|host|daemon/i)
        t.equal(finish, finishes.stop)
        t.ok(Number(inputTokens) > 0 && Number(outputTokens) > 0, 'tokens are counted')
      })

      t.test('gets the same answer as a stream', async t => {
        const whole = await library.chat({ model: MODEL, text: QUESTION })
        const { pieces, ...streamed } = await library.stream({ model: MODEL, text: QUESTION })
        t.strictSame(streamed, whole)
        t.ok(pieces > 1, `${pieces} pieces`)
      })

      t.test('sees that the token limit ended an answer', async t => {
        const ask = { model: MODEL, text: QUESTION, maxTokens: 16 }
        const { finish, outputTokens } = await library.chat(ask)
        t.strictSame([finish, outputTokens], [finishes.length, 16])
        t.equal((await library.stream(ask)).finish, finishes.length)
      })

      t.test('gets a function call, whole and streamed', async t => {
        for (const call of [library.tool, library.toolStream]) {
          const { name, input, finish } = await call({ model: MODEL, text: 'Look at it.' })
          t.equal(name, 'look')
          t.match(input, { part: /^(cell|robot)$/, deep: Boolean })
          t.equal(finish, finishes.tool)
        }
      })

      t.test('gets an object that matches its schema', async t => {
        const value = await library.json({ model: MODEL, text: QUESTION })
        t.match(value, { kind: /^(cell|robot)$/, known: Boolean })
      })

      const { embed } = library
      if (embed)
        t.test('gets embedding vectors', async t => {
          const vectors = await embed('embed-a', ['a cell', 'banana bread'])
          t.equal(vectors.length, 2)
          for (const vector of vectors) {
            const square = vector.reduce((sum, value) => sum + value * value, 0)
            t.ok(Math.abs(square - 1) < 1e-3, 'of length 1')
          }
        })

      t.test('reads our errors, whole and streamed', async t => {
        const ask = { model: MODEL, text: QUESTION }
        for (const [asker, request, status, code] of [
          [strangers[index], ask, 401, 'auth_required'],
          [free[index], { ...ask, model: 'model-e:70b' }, 422, 'invalid_model'],
          [library, { ...ask, text: 'word '.repeat(3000) }, 400, 'context_length_exceeded'],
        ] as const)
          for (const call of [asker?.chat, asker?.stream]) {
            const error = await call?.(request).then(
              () => t.fail('no error'),
              (thrown: unknown) => thrown,
            )
            const fault = library.fault(error)
            t.strictSame([fault.status, fault.code], [status, code])
          }
      })

      t.test('stops generation when it aborts', async t => {
        // so hot that it would go on for hundreds of tokens
        const thrown = await library.abort({ model: MODEL, text: QUESTION, temperature: 2 })
        if (library.abortsQuietly) t.equal(thrown, undefined)
        else t.match(thrown, /abort/i, 'and says so')
      })

      t.test('gets a cascade answer that names its model', async t => {
        const { text, finish } = await library.chat({ model: 'auto', text: QUESTION })
        t.match(text, /machine|host|daemon/i)
        t.equal(finish, finishes.stop)
        t.match((await library.tool({ model: 'auto', text: 'Look at it.' })).name, 'look')
      })
    })
  }
})
