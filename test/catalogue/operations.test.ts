import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import * as z from 'zod'
import type { QuotaViews } from '../../coordinator/access/quota/open.ts'
import type { Views } from '../../coordinator/assembly/coordinator.ts'
import { isMutation } from '../../coordinator/calls/invoke/repeat.ts'
import type { Context } from '../../coordinator/kernel/declaration/context.ts'
import { defineOperation, type Operation } from '../../coordinator/kernel/declaration/operation.ts'
import { declared } from '../../coordinator/surfaces/catalogue/declared.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { deprecationHeaders } from '../../coordinator/surfaces/http/deprecation.ts'
import type { OpenApiDocument } from '../../coordinator/surfaces/http/openapi.ts'
import { operationRoutes } from '../../coordinator/surfaces/http/operation-routes.ts'
import { VERSION } from '../../shared/version.ts'
import { appWith, pipelineWith } from '../support/app.ts'
import { governanceScene } from '../support/governance.ts'

const all = [...operations, ...skills]
const app = await appWith()
t.teardown(() => app.close())
const document = (await app.inject('/v1/openapi.json')).json() as OpenApiDocument

const openApiOf = ({ path, method }: Operation) =>
  document.paths[path]?.[method.toLowerCase()] as unknown as {
    deprecated?: boolean
    parameters: { name: string; in: string }[]
  }

const fillPath = ({ path }: Operation): string => path.replaceAll(/\{\w+\}/g, 'x')

t.test('every answer names the version, and deprecated operations announce their end', async t => {
  const wrong: string[] = []
  for (const operation of all) {
    const { method, id, deprecated } = operation
    const wanted: Record<string, string> = deprecated ? deprecationHeaders(deprecated) : {}
    for (const key of ['admin-key', 'none']) {
      const { headers } = await app.inject({
        method,
        url: fillPath(operation),
        headers: { authorization: `Bearer ${key}` },
      })
      const isRight =
        headers['x-shoal-version'] === VERSION &&
        headers.deprecation === wanted.deprecation &&
        headers.sunset === wanted.sunset
      if (!isRight) wrong.push(`${id} with ${key}`)
    }
    if ((openApiOf(operation).deprecated === true) !== (deprecated !== undefined)) wrong.push(id)
  }
  t.strictSame(wrong, [])
})

t.test('the compiler refuses an operation that needs a view that no part provides', async t => {
  const declare = <Needs>(read: (needs: Needs) => string) =>
    defineOperation({
      id: 'thing-show',
      description: 'Show a thing.',
      method: 'GET',
      path: '/v1/thing',
      access: 'none',
      effect: 'read',
      input: z.strictObject({}),
      output: z.object({ thing: z.string() }),
      run: (_input, needs: Needs) => ({ thing: read(needs) }),
    })
  type Callable = Operation<Context & Views>
  const met = declare(({ tiers }: QuotaViews) => Object.keys(tiers).join())
  const unmet = declare(({ things }: { things: string[] }) => things.join())
  // @ts-expect-error Property 'things' is missing in type 'Context & Views'
  const callable: Callable[] = [unmet]
  t.equal([...callable, met satisfies Callable].length, 2)
  // test/catalogue/needs.ts has a line for each file
  const checked = readFileSync(join(import.meta.dirname, 'needs.ts'), 'utf8')
  const names = [...checked.matchAll(/\/([\w-]+)\.ts'\)/g)].map(([, name = '']) => name)
  const isChecked = (id: string) => names.some(name => id === name || id.startsWith(`${name}-`))
  t.strictSame(
    declared.filter(({ id }) => !isChecked(id)).map(({ id }) => id),
    [],
  )
})

t.test('a deprecated operation states since when, until when, and its replacement', async t => {
  const old = defineOperation({
    id: 'old-list',
    description: 'Old.',
    method: 'GET',
    path: '/v1/old',
    access: 'none',
    effect: 'read',
    deprecated: { since: '2026-11-20', sunset: '2027-06-01', use: '/v1/new' },
    input: z.strictObject({}),
    output: z.object({ a: z.int() }),
    run: () => ({ a: 1 }),
  })
  const server = Fastify()
  t.teardown(() => server.close())
  await server.register(operationRoutes, {
    operations: [old],
    invoke: pipelineWith().invoke,
  })
  const { headers, statusCode } = await server.inject('/v1/old')
  t.equal(statusCode, 200)
  t.match(headers, deprecationHeaders(old.deprecated as never))
  t.strictSame(deprecationHeaders(old.deprecated as never), {
    deprecation: '@1795132800',
    sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
    link: '</v1/new>; rel="successor-version"',
  })
  for (const [since, sunset] of [
    ['2026-11-20', '2027-05-01'],
    ['2026-11-20', 'later'],
    ['soon', '2027-12-01'],
    ['2026-11-20T00:00:00Z', '2027-12-01'],
  ] as const)
    t.throws(() => defineOperation({ ...old, deprecated: { since, sunset, use: '/x' } } as never))
})

t.test('every mutation, and nothing else, accepts and documents an Idempotency-Key', async t => {
  const { call, demo } = await governanceScene(t)
  t.ok(all.filter(isMutation).length > 20)
  const wrong: string[] = []
  for (const operation of all) {
    const names = openApiOf(operation).parameters.flatMap(({ name, in: place }) =>
      place === 'header' ? [name] : [],
    )
    const wanted = isMutation(operation) ? 'Idempotency-Key' : ''
    if (names.join() !== wanted) wrong.push(`${operation.id} takes ${names}`)
    if (!isMutation(operation)) continue
    const body = operation.method === 'DELETE' ? undefined : {}
    const bad = { 'idempotency-key': 'a b' }
    const method = operation.method as 'POST'
    const answer = await call(demo.operator, method, fillPath(operation), body, bad)
    const { param } = answer.json.error
    const isRefused = answer.status === 422 ? param === 'Idempotency-Key' : answer.status === 403
    if (!isRefused) wrong.push(`${operation.id} answers ${answer.status}`)
  }
  t.strictSame(wrong, [])
})

t.test('a repeated call changes nothing a second time', async t => {
  const { call, demo } = await governanceScene(t)
  const key = { 'idempotency-key': 'one' }
  const person = { name: 'Ada' }
  const create = (body: object, headers: Record<string, string> = key) =>
    call(demo.operator, 'POST', '/v1/persons', body, headers)
  const first = await create(person)
  t.equal(first.status, 200)
  t.notOk(first.headers['idempotency-replayed'])
  const again = await create({ name: 'Ada' })
  t.match(again, { status: 200, headers: { 'idempotency-replayed': 'true' } })
  t.strictSame(again.json, first.json)
  t.match(await create({ ...person, name: 'Eve' }), {
    status: 422,
    json: { error: { code: 'idempotency_key_reuse', param: 'Idempotency-Key' } },
  })
  const anew = await create(person, { 'idempotency-key': 'two' })
  t.not(anew.json.id, first.json.id)
  const hook = { url: 'https://hooks.acme-corp.com/x' }
  const made = await call(demo.operator, 'POST', '/v1/webhooks', hook, key)
  t.equal(made.status, 422, 'a key is for one question of any kind')
})

t.test('a repeated call returns the secret that is shown only once', async t => {
  const { call, demo } = await governanceScene(t)
  const hook = { url: 'https://hooks.acme-corp.com/x' }
  const create = (key: string) =>
    call(key, 'POST', '/v1/webhooks', hook, { 'idempotency-key': 'one' })
  const [first, again, other] = [
    await create(demo.operator),
    await create(demo.operator),
    await create(demo.stranger),
  ]
  t.match(first.json.secret, /^whsec_/)
  t.equal(again.json.secret, first.json.secret)
  t.not(other.json.secret, first.json.secret)
})

t.test('a call repeated after its approval is evaluated again and carried out', async t => {
  const { call, demo } = await governanceScene(t)
  const key = { 'idempotency-key': 'one' }
  const create = () => call(demo.operator, 'POST', '/v1/tokens', { uses: 2 }, key)
  const pending = await create()
  t.equal(pending.status, 202)
  const id: string = pending.json.request_id
  t.notOk((await create()).headers['idempotency-replayed'])
  await call(demo.approver_a, 'POST', `/v1/gates/requests/${id}/approve`)
  const done = await create()
  t.match(done, { status: 200, json: { secret: /^shl_join_/ } })
  t.equal((await create()).json.secret, done.json.secret)
})
