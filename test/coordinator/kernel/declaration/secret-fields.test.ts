import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { jsonSchema } from '../../../../coordinator/kernel/declaration/json-schema.ts'
import { listSecretFields } from '../../../../coordinator/kernel/declaration/secret-fields.ts'
import { defineSkill, type Skill } from '../../../../coordinator/kernel/declaration/skill.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import { type AnyJson, a2aScene, askUntil, caller, message } from '../../../support/a2a.ts'
import { linkCell } from '../../../support/cell.ts'
import { spawnShoal } from '../../../support/shoal-program.ts'
import { notInFiles, temporaryFolder } from '../store/temporary.ts'

/** Stands for a secret; it must be in the question to the cell and nowhere else. */
const CANARY = 'canary31415926'
const INPUT = { ip: '127.0.0.1', serial: '01P00A000000001', access_code: CANARY }

const EMPTY = {
  serial: INPUT.serial,
  available: false,
  writable: null,
  reason: 'the printer refuses the access code',
  certificate_fingerprint: null,
  certificate_pinned: false,
  observed_at: null,
  state: null,
  job: null,
  progress_percent: null,
  remaining_minutes: null,
  layer: null,
  layers: null,
  nozzle_celsius: null,
  nozzle_target_celsius: null,
  bed_celsius: null,
  bed_target_celsius: null,
  chamber_celsius: null,
  error_code: null,
  warnings: null,
  light_on: null,
}

/** Skills with a secret that change something and that go on by themselves. */
const secretSkills = () => {
  const heard: string[] = []
  const release = Promise.withResolvers<void>()
  const facts = {
    name: 'Fixture',
    description: 'Takes a secret.',
    tags: ['test'],
    access: 'operator',
    effect: 'write',
    input: z.strictObject({
      word: z.string(),
      access_code: z.string().min(4).meta({ secret: true }).optional(),
    }),
    output: z.object({ done: z.boolean() }),
  } as const
  const skills: Skill[] = [
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-secret',
      run: ({ access_code = '' }) => {
        heard.push(access_code)
        return { done: true }
      },
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-secret-task',
      mode: 'task',
      resumable: true,
      run: async ({ access_code = '' }) => {
        heard.push(access_code)
        await release.promise
        return { done: true }
      },
    }),
  ]
  return { skills, heard, release: release.resolve }
}

const openSecretScene = async (t: Test) => {
  const logs: string[] = []
  const questions: string[] = []
  const linked = await linkCell('near', (request, response) => {
    request.on('data', piece => questions.push(`${request.url} ${piece}`))
    request.on('end', () =>
      response.end(`${JSON.stringify({ type: 'item', value: EMPTY })}\n{"type":"end"}\n`),
    )
  })
  t.teardown(() => linked.close())
  const near = {
    ...newCell('near', 1),
    presence: 'ready' as const,
    link: linked.link,
    announce: { capability: CAPABILITY } as never,
  }
  const folder = await temporaryFolder(t)
  const fixture = secretSkills()
  t.teardown(fixture.release)
  const scene = await a2aScene(t, {
    folder,
    moreSkills: fixture.skills,
    logger: pino({ level: 'trace' }, { write: line => void logs.push(line) }),
    views: {
      fleet: { cells: () => [near], cell: (id: string) => (id === 'near' ? near : undefined) },
    },
  })
  const readStore = (): string =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
      .join('\n')
  return { ...scene, ...fixture, logs, questions, readStore }
}

t.test(
  'a secret reaches its call on every surface, and is stored on none',
  {
    skip: notInFiles,
  },
  async t => {
    const scene = await openSecretScene(t)
    const { url, demo, logs, questions, heard, readStore } = scene
    const client = caller(url, demo.operator, { 'idempotency-key': 'key-1' })
    const answers: unknown[] = []
    const send = async (part: object, more: object = {}): Promise<AnyJson> => {
      const { result } = await client.rpc('SendMessage', { message: message(part, more) })
      answers.push(result)
      return result.task
    }

    const rest = await client.json('/v1/skills/printer-status', INPUT)
    t.match(rest.json, { cell_id: 'near', available: false, data_state: 'empty' })
    answers.push(
      rest.json,
      await client.json('/v1/skills/fix-secret', { word: 'a', access_code: CANARY }),
    )
    const again = await client.json('/v1/skills/fix-secret', { word: 'a', access_code: CANARY })
    t.equal(again.headers.get('idempotent-replayed') ?? 'true', 'true')
    t.equal(heard.length, 1, 'a repetition with its key gets the first answer')
    const refused = await client.json('/v1/skills/printer-status', {
      ...INPUT,
      access_code: `${CANARY} \n`,
    })
    t.match(refused, { status: 422, json: { error: { param: 'access_code' } } })
    answers.push(refused.json)

    const { task_id } = (
      await caller(url, demo.operator, { 'idempotency-key': 'key-2' }).json(
        '/v1/skills/fix-secret-task',
        { word: 'b', access_code: CANARY },
      )
    ).json
    const find = () => client.json(`/v1/tasks/${task_id}`)
    await askUntil(find, ({ json }) => json.state === 'working')
    await askUntil(
      async () => heard.length,
      calls => calls === 2,
    )
    answers.push((await find()).json)

    const sent = { data: { skill: 'printer-status', input: INPUT } }
    t.match(await send(sent), { status: { state: 'TASK_STATE_COMPLETED' } })
    await send({ text: `printer-status ${JSON.stringify(INPUT)}` })
    await send({ data: { ...INPUT } }, { metadata: { skill: 'printer-status' } })
    await send({ data: { access_code: CANARY, word: 'which skill is meant?' } })

    const { access_code, ...without } = INPUT
    const asking = await send({ data: { skill: 'printer-status', input: without } })
    t.equal(asking.status.state, 'TASK_STATE_INPUT_REQUIRED')
    const told = await send({ text: access_code }, { taskId: asking.id })
    t.equal(told.status.state, 'TASK_STATE_COMPLETED')
    const half = await send({ data: { skill: 'printer-status', input: { access_code } } })
    const more = await send({ data: { ip: INPUT.ip, serial: INPUT.serial } }, { taskId: half.id })
    t.equal(more.status.state, 'TASK_STATE_INPUT_REQUIRED', 'the secret must be sent again')

    const mcp = await caller(url, demo.operator, {
      accept: 'application/json, text/event-stream',
    }).raw('/mcp/', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'printer-status',
        arguments: INPUT,
        _meta: { 'io.shoal/idempotencyKey': 'key-3' },
      },
    })
    t.match(await mcp.text(), /refuses the access code/)

    const env = { SHOAL_URL: url, SHOAL_KEY: demo.operator, HOME: await temporaryFolder(t) }
    const command = ['skills', 'run', 'printer-status', '--ip', INPUT.ip, '--json', '-']
    const cli = await spawnShoal(env, command, JSON.stringify({ ...without, access_code }))
    t.match(cli, { code: 0, err: '' })
    answers.push(cli)

    const conversation = await caller(url, demo.operator).json('/a2a/conversations', {
      participants: [{ id: 'printer-status', type: 'skill' }],
    })
    t.match(conversation.json.error.message, /access_code is secret/)

    t.equal(questions.length, 7)
    for (const question of questions)
      t.match(question, `/device/printer-status ${JSON.stringify(INPUT)}`)
    t.notMatch(readStore(), CANARY)
    t.notMatch(logs.join('\n'), CANARY)
    t.notMatch(JSON.stringify(answers), CANARY)
  },
)

t.test('a task that is resumed without its secret says that it is gone', async t => {
  const before = secretSkills()
  const first = await a2aScene(t, { moreSkills: before.skills })
  const { demo, store } = first
  const input = { word: 'c', access_code: CANARY }
  const { json } = caller(first.url, demo.operator)
  const { task_id } = (await json('/v1/skills/fix-secret-task', input)).json
  await askUntil(
    async () => before.heard,
    heard => heard.includes(CANARY),
  )
  await first.close()

  const after = secretSkills()
  const second = await a2aScene(t, { moreSkills: after.skills, from: { store, demo } })
  const client = caller(second.url, demo.operator)
  const { json: task } = await askUntil(
    () => client.json(`/v1/tasks/${task_id}`),
    answer => answer.json.state === 'failed',
  )
  t.match(task, {
    message: /access_code is secret and was not stored/,
    details: { error: { code: 'secret_gone' } },
  })
  t.strictSame(after.heard, [])
})

t.test('a secret is write-only in the published schema', async t => {
  const [skill] = secretSkills().skills
  const schema = jsonSchema((skill as Skill).input) as AnyJson
  t.strictSame(schema.properties.access_code, { type: 'string', minLength: 4, writeOnly: true })
  t.strictSame(listSecretFields((skill as Skill).input), ['access_code'])
})
