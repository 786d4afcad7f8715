import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { caller, message } from '../support/a2a.ts'
import { placeEmptyStore } from '../support/empty-store.ts'

const root = resolve(import.meta.dirname, '..', '..')
const run = promisify(execFile)

const SKILL = `import * as z from 'zod'
import { defineSkill } from '../../../kernel/declaration/skill.ts'

export default defineSkill({
  group: 'fleet',
  id: 'planted-stone',
  name: 'Planted stone',
  description: 'Say how heavy a stone of so many litres is.',
  tags: ['test'],
  access: 'key',
  effect: 'read',
  input: z.strictObject({ litres: z.number().positive() }),
  output: z.object({ kilograms: z.number() }),
  examples: [{ litres: 2 }],
  run: ({ litres }) => ({ kilograms: litres * 2.5 }),
})
`

/** The sources in a folder of their own, with one more file among them. */
const plantSkill = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'shoal-one-file-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  for (const name of [
    'coordinator',
    'daemon',
    'devices',
    'discovery',
    'shared',
    'clients',
    'bin',
    'examples',
    'test',
    'package.json',
  ])
    await cp(join(root, name), join(folder, name), { recursive: true })
  await symlink(await realpath(join(root, 'node_modules')), join(folder, 'node_modules'))
  await writeFile(
    join(folder, 'coordinator', 'fleet', 'cells', 'operations', 'planted-stone.ts'),
    SKILL,
  )
  return folder
}

const folder = await plantSkill()
const stateDir = join(folder, 'state')
placeEmptyStore(stateDir)
const store = await openStore(stateDir)
const { keys } = await bootstrap(store)
await store.close()

const startCoordinator = async (): Promise<string> => {
  const args = [join(folder, 'bin', 'shoal-coordinator.mjs')]
  const child = spawn(process.execPath, [...args, '--state-dir', stateDir, '--http-port', '0'], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(
    () =>
      new Promise(done => {
        child.once('exit', done)
        child.kill('SIGKILL')
      }),
  )
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /"url":"(http:[^"]+)"/.exec(line)?.[1]
    if (url !== undefined) {
      child.stdout.resume()
      return url
    }
  }
  throw new Error('the coordinator ended')
}
const url = await startCoordinator()
const { json, rpc } = caller(url, keys.operator)

t.test('one file adds a route', async t => {
  const answer = await json('/v1/skills/planted-stone', { litres: 2 })
  t.match(answer.json, { kilograms: 5, data_state: 'live', unknown: [] })
})

t.test('the agent card lists it, and A2A calls it', async t => {
  const card = (await json('/.well-known/agent.json')).json
  t.ok(card.skills.some(({ id }: { id: string }) => id === 'planted-stone'))
  const sent = await rpc('SendMessage', {
    message: message({ data: { skill: 'planted-stone', input: { litres: 4 } } }),
  })
  t.strictSame(sent.result.task.artifacts[0].parts[0].data, {
    kilograms: 10,
    data_state: 'live',
    unknown: [],
  })
})

t.test('MCP offers it as a tool', async t => {
  const client = new Client({ name: 'test', version: '1' })
  const headers = { authorization: `Bearer ${keys.operator}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp/`), { requestInit: { headers } }),
  )
  t.teardown(() => client.close())
  t.ok((await client.listTools()).tools.some(({ name }) => name === 'planted-stone'))
  const answer = await client.callTool({ name: 'planted-stone', arguments: { litres: 2 } })
  t.match(answer.structuredContent, { kilograms: 5, data_state: 'live', unknown: [] })
})

t.test('the API document contains it', async t => {
  const document = (await json('/v1/openapi.json')).json
  t.ok(document.paths['/v1/skills/planted-stone'].post)
})

t.test('the command line runs it', async t => {
  const { stdout } = await run(
    process.execPath,
    [join(folder, 'bin', 'shoal.mjs'), 'skill', 'run', 'planted-stone', '--litres', '2'],
    { env: { PATH: process.env.PATH, SHOAL_URL: url, SHOAL_KEY: keys.operator, HOME: folder } },
  )
  t.match(stdout, /kilograms.*5/s)
})

t.test('the docs list it', async t => {
  await mkdir(join(folder, 'docs'))
  await run(process.execPath, [join(folder, 'bin', 'docs.ts')], { cwd: folder })
  const page = await readFile(join(folder, 'docs', 'skills.md'), 'utf8')
  t.match(page, /planted-stone/)
  t.match(page, /Say how heavy a stone/)
})
