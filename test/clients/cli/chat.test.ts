import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { hasPython, runInTerminal, SHOAL, shoal } from '../../support/shoal-program.ts'

interface Question {
  model: string
  messages: { role: string; content: string }[]
}

const MODELS = ['model-a:7b', 'model-b:3b'].map(id => ({ id, kind: 'chat' }))

/** Model that repeats the last message, never ends an answer to `wait`, and refuses `long`. */
const scene = async (t: Test) => {
  const asked: Question[] = []
  const server = createServer(async (request, response) => {
    response.setHeader('x-shoal-version', '1')
    if (request.url === '/v1/catalogue')
      return void response.end(
        JSON.stringify({ models: [...MODELS, { id: 'e', kind: 'embedding' }] }),
      )
    const question = (await json(request)) as Question
    asked.push(question)
    answer(response, question.messages.at(-1)?.content ?? '')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return { asked, env: { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'k' } }
}

const answer = (response: ServerResponse, text: string): void => {
  if (text === 'long') {
    const error = { code: 'context_length_exceeded', message: 'too long', type: 'x', param: null }
    response.writeHead(422, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error }))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const say = (content: string) =>
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`)
  say(`you said <${text.replaceAll('\n', '|')}>\u001b[2J`)
  if (text !== 'wait') response.end('data: [DONE]\n\n')
}

t.test('one question is asked with words, standard input, or both', async t => {
  const { env, asked } = await scene(t)
  for (const [args, input, said] of [
    [['chat', 'what', 'is', 'it'], '', 'what is it'],
    [['chat', '-'], 'hi\n', 'hi'],
    [['chat'], 'hi\nthere\n', 'hi|there'],
    [['chat', 'explain:', '-'], 'log\n', 'explain:||log'],
  ] as const) {
    const done = await shoal(env, args, input)
    t.match(done, { code: 0, out: `you said <${said}>\\u{1b}[2J\n` }, args.join(' '))
    t.equal(asked.at(-1)?.model, 'auto', 'the coordinator chooses the model')
  }
  await shoal(env, ['chat', '--system', 'Be brief.', '--model', 'model-b:3b', 'hi'])
  t.match(asked.at(-1), {
    model: 'model-b:3b',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ],
  })
  await shoal(env, ['chat', '--model', 'model-b', 'hi'])
  t.equal(asked.at(-1)?.model, 'model-b:3b', 'the beginning of an id is enough')
  for (const wrong of ['nosuch', 'e'])
    t.match(await shoal(env, ['chat', '--model', wrong, 'hi']), {
      code: 66,
      err: `shoal: there is no chat model ${wrong} (model_not_found)\nshoal models list`,
    })
  t.match(await shoal(env, ['chat', '-'], ' \n'), { code: 64, err: /the message is empty/ })
})

t.test(
  'a session has a conversation, commands and several lines',
  { skip: !hasPython },
  async t => {
    const { env, asked } = await scene(t)
    const { code, out } = await runInTerminal([process.execPath, SHOAL, 'chat'], {
      columns: 120,
      env,
      steps: [
        { wait: '> ', type: 'hello\r' },
        { wait: 'you said <hello>', type: '/model b\r' },
        { wait: 'there is no chat model b', type: '/model model\r' },
        {
          wait: 'matches 2 models: model-a:7b, model-b:3b (invalid_request)',
          type: '/model model-b\r',
        },
        { wait: '* model-b:3b', type: '/system Be brief.\r' },
        { wait: 'instructions: Be brief.', type: '"""one\r' },
        { wait: '. ', type: 'two"""\r' },
        { wait: 'you said <one|two>', type: 'three \\\r' },
        { wait: '. ', type: 'four\r' },
        { wait: 'you said <three |four>', type: 'long\r' },
        { wait: '/clear deletes', type: '/nonsense\r' },
        { wait: '/help lists the commands', type: '/etc/hosts is a file\r' },
        { wait: 'you said </etc/hosts is a file>', type: '/history\r' },
        { wait: 'assistant: you said </etc/hosts', type: '/exit\r' },
      ],
    })
    t.equal(code, 0)
    t.notMatch(out, '\u001b[2J', 'no model steers the terminal')
    t.match(asked.at(1), {
      model: 'model-b:3b',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
        { role: 'assistant' },
        { role: 'user', content: 'one\ntwo' },
      ],
    })
    const last = asked.at(-1)?.messages ?? []
    t.notOk(
      last.some(({ content }) => content === 'long'),
      'a refused message is left out',
    )
  },
)

t.test('Ctrl-C ends an answer, and Ctrl-D the session', { skip: !hasPython }, async t => {
  const { env, asked } = await scene(t)
  const { code, out } = await runInTerminal([process.execPath, SHOAL, 'chat'], {
    env,
    steps: [
      { wait: '> ', type: 'wait\r' },
      { wait: 'you said <wait>', type: '\u0003' },
      { wait: 'interrupted', type: 'half a li\u0003' },
      { wait: '> ', type: '\u0003' },
      { wait: 'Ctrl-D or /exit ends the session', type: '/history\r' },
      { wait: 'user: wait', type: 'again\r' },
      { wait: 'you said <again>', type: '\u0004' },
    ],
  })
  t.equal(code, 0, out)
  t.strictSame(
    asked.at(-1)?.messages.map(({ role }) => role),
    ['user', 'assistant', 'user'],
    'what arrived of an answer stays in the conversation',
  )
})

t.test('a wrong model and an unfinished message end a session', { skip: !hasPython }, async t => {
  const { env, asked } = await scene(t)
  const chat = [process.execPath, SHOAL, 'chat']
  const wrong = await runInTerminal([...chat, '--model', 'nosuch'], { env })
  t.equal(wrong.code, 66)
  t.match(wrong.out, 'there is no chat model nosuch')
  const steps = [
    { wait: '> ', type: '"""half\r' },
    { wait: '. ', type: '\u0004' },
  ]
  t.equal((await runInTerminal(chat, { env, steps })).code, 0)
  t.strictSame(asked, [], 'nothing was sent')
})
