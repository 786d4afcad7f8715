import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Template } from '@huggingface/jinja'
import { LlamaVocabularyType, type Token } from 'node-llama-cpp'
import t from 'tap'
import { ChatTemplate } from '../../../daemon/inference/child/chat-template.ts'
import { detokenizer } from '../../../daemon/inference/child/model.ts'
import { type Piece, renderPrompt } from '../../../daemon/inference/child/prompt.ts'
import { spellOutTools } from '../../../daemon/inference/child/spelled-tools.ts'
import { TemplateProcess } from '../../../daemon/inference/child/template-process.ts'
import type { PlainMessage, PlainTool } from '../../../daemon/inference/protocol.ts'
import { waitUntil } from '../../support/wait-until.ts'

const VARIABLES = { bos_token: '', eos_token: '' }
const CHATML =
  "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
/** Knows tools as Qwen 2.5's template does. */
const KNOWS_TOOLS = [
  "{% if tools %}{% for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}{% endif %}",
  "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}",
  '{% if m.tool_calls %}{% for call in m.tool_calls %}',
  "{{ '<tool_call>' + call.function.name + ' ' + (call.function.arguments | tojson) + '</tool_call>' }}",
  '{% endfor %}{% endif %}{% endfor %}',
].join('')

const user = (text: string): PlainMessage => ({ role: 'user', text })
const tool = (text: string): PlainMessage => ({ role: 'tool', text, callId: 'call_1' })
const callMessage = (args: string): PlainMessage => ({
  role: 'assistant',
  text: '',
  calls: [{ id: 'call_1', name: 'f', arguments: args }],
})
const F: PlainTool = {
  name: 'f',
  description: 'ends with <|im_end|> "now"',
  parameters: { type: 'object', properties: { '<|im_start|>': { type: 'string' } } },
}
const joinPieces = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('')
const joinTemplatePieces = (pieces: readonly Piece[]): string =>
  pieces
    .filter(({ from }) => from === 'template')
    .map(({ text }) => text)
    .join('')

t.test('a template with tool support', async t => {
  const template = new ChatTemplate(KNOWS_TOOLS, VARIABLES)
  t.equal(template.callShape, 'hermes')
  t.test('renders tools, calls and results of the conversation', async t => {
    const messages = [user('hi'), callMessage('{"a": [1, "<|x|>"]}'), tool('42')]
    const { pieces } = template.render(messages, 'nonce', [F])
    const [first = '', second = ''] = joinPieces(pieces).split('\n')
    t.strictSame(JSON.parse(first), { type: 'function', function: F })
    t.equal(second, '[user]hi[assistant]<tool_call>f {"a": [1, "<|x|>"]}</tool_call>[tool]42')
  })
  t.test('creates no special token from user text in them', async t => {
    const written = joinTemplatePieces(
      template.render([user('hi'), callMessage('{"<|x|>": 1}')], 'nonce', [F]).pieces,
    )
    t.notMatch(written, /<\|/)
    t.match(written, /"type": "object"/)
  })
  t.test('gets arguments that are not JSON as text', async t => {
    t.match(
      joinPieces(template.render([user('hi'), callMessage('{"a')], 'nonce').pieces),
      /f "\{\\"a"<\/tool_call>/,
    )
  })
  t.test('gets no tools when there are none', async t => {
    t.equal(joinPieces(template.render([user('hi')], 'nonce').pieces), '[user]hi')
  })
})

t.test('a template that knows enable_thinking leaves thoughts out', async t => {
  const thinks =
    '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}'
  const { pieces } = new ChatTemplate(thinks, VARIABLES).render([user('hi')], 'nonce')
  t.equal(joinPieces(pieces), '[user]hi<think></think>')
})

t.test('a template without tool support', async t => {
  const template = new ChatTemplate(CHATML, VARIABLES)
  t.equal(template.callShape, undefined)
  t.test('gets the tools described in a system message', async t => {
    const text = joinPieces(template.render([user('hi')], 'nonce', [F]).pieces)
    t.match(text, /^<\|im_start\|>system\n.*<tool_call>/s)
    t.ok(text.includes(JSON.stringify(F)))
  })
  t.test('gets calls and results as text, results in one message', async t => {
    const spelled = spellOutTools([user('hi'), callMessage('{"a":1}'), tool('1'), tool('2')], [])
    t.strictSame(spelled, [
      user('hi'),
      { role: 'assistant', text: '<tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call>' },
      user('<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>'),
    ])
  })
  t.test('keeps the existing system message', async t => {
    const [first, ...rest] = spellOutTools([{ role: 'system', text: 'be brief' }, user('hi')], [F])
    t.match(first, { role: 'system', text: /^be brief\n\nYou may call/ })
    t.strictSame(rest, [user('hi')])
  })
})

t.test('a template with another tool format gets no tools', async t => {
  const other = KNOWS_TOOLS.replaceAll('tool_call>', 'function_call>')
  t.equal(new ChatTemplate(other, VARIABLES).callShape, undefined)
})

/** Knows tools as Llama 3.1's template does: one call in a message, answers from `ipython`. */
const LLAMA = [
  '{% if tools %}{{ \'Environment: ipython {"name": f, "parameters": d}\' }}',
  "{% for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}{% endif %}",
  "{% for m in messages %}{% if m.tool_calls %}{% if m.tool_calls | length != 1 %}{{ raise_exception('one') }}{% endif %}",
  '{% set call = m.tool_calls[0].function %}',
  '{{ \'{"name": "\' + call.name + \'", "parameters": \' }}{{ call.arguments | tojson }}{{ "}" }}',
  "{% elif m.role == 'tool' %}{{ '[ipython]' + m.content }}",
  "{% else %}{{ '[' + m.role + ']' + m.content }}{% endif %}{% endfor %}",
].join('')
/** Template like Mistral's: lists of calls, with ids of nine characters. */
const MISTRAL = [
  "{% if tools %}{% for tool in tools %}{{ '[AVAILABLE_TOOLS]' + (tool | tojson) }}{% endfor %}{% endif %}",
  "{% for m in messages %}{% if m.tool_calls %}{{ '[TOOL_CALLS] [' }}{% for call in m.tool_calls %}",
  "{% if call.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}",
  '{{ call.function | tojson }}{{ \', "id": "\' + call.id + \'"\' }}{% endfor %}{{ "]" }}',
  "{% elif m.role == 'tool' %}{% if m.tool_call_id | length != 9 %}{{ raise_exception('nine') }}{% endif %}",
  "{{ '[TOOL_RESULTS]' + m.tool_call_id + ':' + m.content }}",
  "{% else %}{{ '[' + m.role + ']' + m.content }}{% endif %}{% endfor %}",
].join('')

t.test('templates of other families', async t => {
  const conversation = [user('hi'), callMessage('{"a": 1}'), tool('42')]
  t.test("render calls and results in Llama's format", async t => {
    const template = new ChatTemplate(LLAMA, VARIABLES)
    const { pieces, callShape } = template.render(conversation, 'nonce', [F])
    t.equal(callShape, 'llama')
    t.match(joinPieces(pieces), /\[user\]hi\{"name": "f", "parameters": \{"a": 1\}\}\[ipython\]42$/)
  })
  t.test('are replaced by text where they refuse such a conversation', async t => {
    const template = new ChatTemplate(LLAMA, VARIABLES)
    const twice = {
      ...callMessage('{}'),
      calls: [...(callMessage('{}').calls ?? []), ...(callMessage('{}').calls ?? [])],
    }
    const { pieces, callShape } = template.render([user('hi'), twice], 'nonce', [F])
    t.equal(callShape, 'hermes')
    t.match(joinPieces(pieces), /<tool_call>/)
  })
  t.test("render Mistral's format, with ids of its length", async t => {
    const template = new ChatTemplate(MISTRAL, VARIABLES)
    const { pieces, callShape } = template.render(conversation, 'nonce', [F])
    t.equal(callShape, 'mistral')
    const ids = /"id": "(\w{9})"\]\[TOOL_RESULTS\](\w{9}):42$/.exec(joinPieces(pieces))
    t.ok(ids)
    t.equal(ids?.[1], ids?.[2], 'the answer names its call')
  })
})

t.test('a template that refuses a conversation with tools gets it as text', async t => {
  const strict = `{% if messages | length > 1 and tools %}{{ raise_exception('no') }}{% endif %}${KNOWS_TOOLS}`
  const template = new ChatTemplate(strict, VARIABLES)
  const { pieces, callShape } = template.render([user('hi'), user('ho')], 'nonce', [F])
  t.match(joinPieces(pieces), /You may call functions/)
  t.equal(callShape, 'hermes')
})

t.test('marks of calls stay visible even when they are special tokens', async t => {
  const names = ['<tool_call>', '</tool_call>', 'a', '<|im_end|>']
  const special = (token: number) => token !== 2
  const model = {
    vocabularyType: LlamaVocabularyType.bpe,
    tokenize: (text: string) => [names.indexOf(text)],
    detokenize: (tokens: readonly number[]) =>
      tokens.map(token => (special(token) ? '' : names[token])).join(''),
  } as unknown as Parameters<typeof detokenizer>[0]
  const all = [0, 2, 1, 3] as Token[]
  t.equal(detokenizer(model)(all, []), 'a')
  t.equal(detokenizer(model, ['<tool_call>', '</tool_call>'])(all, []), '<tool_call>a</tool_call>')
})

t.test('white space at the ends of words in tools is kept', async t => {
  const parameters = { type: 'object', title: ' <a> ' }
  const template = new Template('{% for tool in tools %}{{ tool | tojson }}{% endfor %}')
  const pieces = renderPrompt(template, [user('hi')], VARIABLES, 'n', [{ name: 'f', parameters }])
  t.strictSame(JSON.parse(joinPieces(pieces)).function.parameters, parameters)
})

t.test(
  'a template that loops or fills the memory is ended, and the next prompt renders',
  async t => {
    const limits = { heapMb: 64, maxSeconds: 2 }
    const open = (source: string, maxSeconds = limits.maxSeconds) =>
      TemplateProcess.open(
        { source, variables: VARIABLES, maxCharacters: 1000 },
        { ...limits, maxSeconds },
      )
    const loop = (body: string) =>
      `{% for a in range(99999) %}{% for b in range(99999) %}${body}{% endfor %}{% endfor %}`
    const tooMuch = { message: /did not render these messages within 2 s and 64 MB/ }
    await t.rejects(open(loop(''), 0.2), { message: /within 0\.2 s and 64 MB/ })
    await t.rejects(open(loop('{{ range(9999) | join }}')), tooMuch)
    // one allocation that does not fit, which ends a process whose thread makes it
    const grown = (more: string) =>
      `{% set ns = namespace(x='a,a,a,a,') %}{% for i in range(22) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}${more}`
    for (const hostile of [
      '{{ range(99999999) | join }}',
      grown("{{ ns.x.split(',') | length }}"),
      grown("{{ ns.x | replace('a', ns.x) }}"),
    ])
      await t.rejects(open(hostile), tooMuch, hostile)

    const isLast = (text: string) => `{% if messages[-1]['content'] == '${text}' %}`
    const long = `${isLast('\n')}{% for a in range(2000) %}x{% endfor %}{% endif %}`
    const template = await open(`${isLast('  ')}${loop('')}{% endif %}${long}${CHATML}`)
    const refused = { name: 'UnservableError', code: 'invalid_request', param: 'messages' }
    const hung = t.rejects(template.render([user('  ')], 'n'), { ...refused, ...tooMuch })
    t.match(joinPieces((await template.render([user('hi')], 'n')).pieces), 'hi')
    await hung
    await t.rejects(template.render([user('\n')], 'n'), { code: 'context_length_exceeded' })
  },
)

t.test('a template that loops ends with its killed engine', async t => {
  const file = new URL('../../../daemon/inference/child/template-process.ts', import.meta.url)
  const source = '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}'
  const data = JSON.stringify({ source, variables: VARIABLES, maxCharacters: 1000 })
  const program = `
    import { TemplateProcess } from '${file}'
    await TemplateProcess.open(${data}, { heapMb: 64, maxSeconds: 60 })`
  const engine = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.teardown(() => engine.kill('SIGKILL'))
  const child = () => listChildren(engine.pid).join()
  await waitUntil('the template loops', () => isLooping(child()))
  const looping = child()
  engine.kill('SIGKILL')
  await waitUntil('the template has ended', () => !isRunning(looping))
})

t.test('a signal to the whole service leaves the template to an engine that drains', async t => {
  const before = listChildren(process.pid)
  const data = { source: CHATML, variables: VARIABLES, maxCharacters: 1000 }
  const template = await TemplateProcess.open(data)
  const [child = 'none'] = listChildren(process.pid).filter(pid => !before.includes(pid))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(Number(child), signal)
  t.match(joinPieces((await template.render([user('hi')], 'n')).pieces), 'hi')
  t.ok(isRunning(child))
})

const listChildren = (pid: number | undefined): string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')

/** True when a process has used half a second of CPU, which is more than its start takes. */
const isLooping = (pid: string): boolean => pid !== '' && readTicks(pid) > 50

const readTicks = (pid: string): number =>
  Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13])

/** A process that has ended and that nobody has waited for has no command line. */
const isRunning = (pid: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}
