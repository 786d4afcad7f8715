import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { EXIT } from '../../bin/up/launch-error.ts'
import { ERROR_REASONS } from '../../shared/error-reasons.ts'
import { errorCodes, exitCode, httpStatus, isForPrograms } from '../../shared/errors.ts'
import { TOPICS } from '../../shared/wire/topics.ts'
import { startDocumented, testExamples } from '../support/documented-service.ts'

const root = resolve(import.meta.dirname, '..', '..')
const run = promisify(execFile)

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...readdirSync(join(root, 'docs')).map(name => `docs/${name}`),
]

t.test('every shell example of the documents works on a running service', async t => {
  const env = await startDocumented(t)
  await testExamples(t, documents, env)

  const runJavaScript = async (path: string): Promise<string[]> => {
    const [, javascript = ''] = /^```js\n(.*?)^```/ms.exec(read(path)) ?? []
    const args = ['--input-type=module', '-e', javascript]
    return (await run(process.execPath, args, { cwd: root, env })).stdout.split('\n')
  }
  t.test('the JavaScript client of docs/clients.md works', async t => {
    const [models, streamed, vectors] = await runJavaScript('docs/clients.md')
    t.match(models, /^model-a:7b .*embed-a/)
    t.match(streamed, /\w+ \w+/)
    t.equal(vectors, '2 vectors of length 256')
  })
  t.test('the JavaScript client of docs/api.md works', async t => {
    const [whole = '', streamed, vectors] = await runJavaScript('docs/api.md')
    t.match(whole, /\w+ \w+/)
    t.equal(streamed, whole, 'a stream is the same answer')
    t.equal(vectors, '2 vectors of length 256')
  })
})

t.test('docs/operations.md lists every exit code with the errors that lead to it', async t => {
  const rows = new Map(
    [...read('docs/operations.md').matchAll(/^\| (\d+) \|[^|]+\|([^|]*)\|$/gm)].map(
      ([, code, errors = '']) => [
        Number(code),
        [...errors.matchAll(/`(\w+)`/g)].map(each => each[1]),
      ],
    ),
  )
  for (const code of new Set([0, 71, ...errorCodes.map(exitCode), ...Object.values(EXIT)])) {
    const errors = errorCodes.filter(each => exitCode(each) === code)
    t.strictSame(rows.get(code)?.toSorted(), errors.toSorted(), `code ${code}`)
  }
})

t.test('docs/api.md lists every error that a client can meet, with its status', async t => {
  const text = read('docs/api.md')
  for (const code of errorCodes.filter(code => !isForPrograms(code)))
    t.match(text, new RegExp(`\\| ${httpStatus(code)} \\|.*\`${code}\``), code)
})

t.test('docs/api.md lists every reason of an error, with its code and meaning', async t => {
  const text = read('docs/api.md')
  for (const [reason, { code, about }] of Object.entries(ERROR_REASONS))
    t.ok(text.includes(`| \`${reason}\` | \`${code}\` | ${about} |`), reason)
})

t.test('every declared reason is stated by some error of the product', async t => {
  const texts = ['coordinator', 'discovery']
    .flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true }).map(name => join(folder, String(name))),
    )
    .filter(path => path.endsWith('.ts'))
    .map(read)
  for (const reason of Object.keys(ERROR_REASONS))
    t.ok(
      texts.some(text => text.includes(`'${reason}'`)),
      reason,
    )
})

t.test('docs/protocol.md lists every topic as in the table', async t => {
  const text = read('docs/protocol.md')
  for (const { path, direction, qos } of Object.values(TOPICS))
    t.ok(text.includes(`| \`${path}\` | ${direction} | ${qos} |`), path)
})

t.test('every link between the documents resolves', async t => {
  for (const path of documents)
    for (const [, target = ''] of read(path).matchAll(/\]\(([^)#]+)\)/g))
      if (!target.startsWith('https://'))
        t.ok(read(join(path, '..', target)), `${path} -> ${target}`)
})
