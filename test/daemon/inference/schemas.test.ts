import { join } from 'node:path'
import t from 'tap'
import * as z from 'zod'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { SMALL } from './fixtures.ts'
import {
  CHAT,
  call,
  createChatBody,
  startInferenceServer,
  startService,
  waitUntilSettled,
} from './peers.ts'

const SCHEMAS = 60

/** Numbers that are the same in every run (a linear congruential generator, its high bits). */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
}

const NAMES = ['a', 'b', 'ab', '"q\\', 'é🦀', 'x\ny', ' s ']
const CONSTANTS = [null, true, 1, 12, -1.5e-7, 'a', 'ab', '🦀x', '🦀y', '"', '\u2028']

/** Schemas of everything that is served, references and empty ones included. */
const schemas = (randomBelow: (most: number) => number) => {
  const repeat = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make)
  const constant = () => CONSTANTS[randomBelow(CONSTANTS.length)]
  const simple = [
    () => ({ type: 'string', maxLength: 4 + randomBelow(10) }),
    () => ({
      type: 'integer',
      minimum: randomBelow(300) - 200,
      maximum: 100 + randomBelow(2 ** 20),
    }),
    () => ({ type: ['integer', 'number', 'boolean', 'null'][randomBelow(4)] }),
    () => ({ enum: repeat(1 + randomBelow(6), constant) }),
    () => ({ const: constant() }),
    () => ({ $ref: ['#', '#/$defs/shared'][randomBelow(2)] }),
    () => ({ type: 'string', format: ['date', 'uuid'][randomBelow(2)] }),
  ]
  const nested = [
    (depth: number) => {
      const names = NAMES.slice(0, randomBelow(NAMES.length))
      const properties = Object.fromEntries(names.map(name => [name, make(depth + 1)]))
      return { type: 'object', properties, required: names.filter(() => randomBelow(2) === 0) }
    },
    (depth: number) => ({
      type: 'object',
      additionalProperties: make(depth + 1),
      maxProperties: 3,
    }),
    (depth: number) => ({ type: 'array', items: make(depth + 1), maxItems: 3 }),
    (depth: number) => ({ type: 'array', prefixItems: [make(depth + 1)], items: false }),
    (depth: number) => ({ anyOf: repeat(1 + randomBelow(4), () => make(depth + 1)) }),
  ]
  const make = (depth: number): object => {
    const kinds = depth > 3 ? simple : [...simple, ...nested, ...nested]
    return (kinds[randomBelow(kinds.length)] as (depth: number) => object)(depth)
  }
  return repeat(SCHEMAS, () => ({ ...make(0), $defs: { shared: make(2) } }))
}

t.test('any output for a schema is valid under that schema', async t => {
  const weights = join(t.testdir(), 'small.gguf')
  writeRandomModel(weights, SMALL)
  const service = await startService(t, [{ id: 'one', weights }], { slots: 2 })
  await waitUntilSettled(service)
  const port = await startInferenceServer(t, service)
  let whole = 0
  for (const [index, schema] of schemas(numbers(4242)).entries()) {
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    const body = createChatBody('hi', { response_format, temperature: 2, seed: 1, max_tokens: 300 })
    const { status, json } = await call(port, 'POST', CHAT, body)
    if (status !== 200) {
      t.match([status, json.error.code], [422, 'unsupported_parameter'])
      continue
    }
    const [{ message, finish_reason }] = json.choices
    if (finish_reason === 'length') continue
    whole++
    const judge = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
    const { error } = judge.safeParse(JSON.parse(message.content))
    t.equal(error, undefined, `an answer to schema ${index}`)
  }
  t.ok(whole > SCHEMAS / 2, `${whole} answers were whole`)
  t.match(service.reports(), [{ state: 'ready', restarts: 0 }])
})
