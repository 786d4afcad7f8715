import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { listOutdated } from '../../bin/docs.ts'
import { createResponseExamples, keepCurrentExamples } from '../../bin/response-examples.ts'
import { settle } from '../../bin/settle-answer.ts'
import { type ExampleAnswer, formatWorkedExample } from '../../bin/worked-example.ts'
import { PendingView } from '../../coordinator/kernel/declaration/pending-result.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import {
  type ResponseExample,
  readResponseExamples,
} from '../../coordinator/surfaces/http/docs/response-examples.ts'
import { joinAnswers } from '../support/organisation/answer-examples.ts'
import { callOperations } from '../support/organisation/call-operations.ts'
import { callSkills } from '../support/organisation/call-skills.ts'
import { liveOn } from '../support/organisation/history.ts'
import { hasMark, listMarks } from '../support/organisation/marks.ts'
import { NOT_ANSWERED } from '../support/organisation/operation-calls.ts'
import { openEmpty, openOrganisation } from '../support/organisation/organisation.ts'

/* Every skill is called with its examples on two coordinators, which are opened once. */
const empty = await openEmpty(t)
const organisation = await openOrganisation(t)
await liveOn(organisation)

const answers = {
  empty: await callSkills(empty, empty.demo.operator),
  own: await callSkills(organisation, organisation.demo.operator),
  foreign: await callSkills(organisation, organisation.demo.stranger),
  foreignEmpty: await callSkills(empty, empty.demo.stranger),
}

const of = (from: Map<string, ExampleAnswer[]>, id: string): ExampleAnswer[] => from.get(id) ?? []
const settled = (from: Map<string, ExampleAnswer[]>, id: string): string =>
  JSON.stringify(settle(of(from, id)))

/** Skills whose first example is refused there, with the code: no robot there speaks ROS 2. */
const REFUSED: Readonly<Record<string, string>> = { 'ros2-command': 'invalid_request' }

t.test('the example organisation answers the first example of every skill', async t => {
  t.equal(skills.length, 99)
  for (const { id, examples, input } of skills) {
    const [{ status, body } = { status: 0, body: {} }] = of(answers.own, id)
    const code = (body.error as { code?: string } | undefined)?.code
    if (id in REFUSED) t.equal(code, REFUSED[id], id)
    else t.ok(status === 200 || status === 202, `${id}: ${JSON.stringify(body)}`)
    t.ok(examples.length > 0 || Object.keys(input.shape).length === 0, `${id} has an example`)
  }
})

t.test('every answer has the declared form, and every refusal a code', async t => {
  const wrong = skills.flatMap(({ id, output, text }) =>
    Object.values(answers)
      .flatMap(each => of(each, id))
      .filter(({ status, body }) => {
        const { error } = body as { error?: { code?: string } }
        // REST leaves out the two fields of an answer that may be text
        const left = text === undefined ? {} : { [text.body]: null, [text.type]: null }
        if (status === 200) return !output.safeParse({ ...left, ...body }).success
        if (status === 202) return !PendingView.safeParse(body).success
        return typeof error?.code !== 'string' || status >= 500 !== error.code in AWAY
      })
      .map(each => [id, each]),
  )
  t.strictSame(wrong, [])
})

/** Refusals because of what is not there: a cell, or an outside source. */
const AWAY = { cell_unavailable: 503, upstream_unavailable: 503 }

t.test('no skill answers the same everywhere unless it is declared to be constant', async t => {
  for (const { id, constantBecause } of skills) {
    const [first, ...others] = [answers.empty, answers.own, answers.foreign].map(each =>
      settled(each, id),
    )
    const isSame = others.every(other => other === first)
    t.equal(isSame, constantBecause !== undefined, `${id}: ${first?.slice(0, 200)}`)
  }
})

t.test('no answer to another tenant has a name, an id or a figure of the organisation', async t => {
  const marks = listMarks(JSON.stringify([...answers.foreignEmpty]))
  for (const mark of ['Kliniken am See', 'hafen', 'Selin Aksoy', '36000', 'nordlicht', 'sub-01'])
    t.ok(marks.includes(mark), mark)
  const found = skills.flatMap(({ id }) => {
    const text = JSON.stringify(of(answers.foreign, id))
    return marks.filter(mark => hasMark(text, mark)).map(mark => `${id} says ${mark}`)
  })
  t.strictSame(found, [])
})

/** Endings of the names of figures and verdicts that are computed from data. */
const COMPUTED =
  /(percent|_eur|_eur_per_\w+|_ms|score|_per_(second|hour)|_kwh|^median_\w+|equivalents|verdict|level)$/

/** Computed fields that have evidence on a coordinator without data, each with that evidence. */
const EVIDENT: Readonly<Record<string, string>> = {
  'pv-forecast.data.series[].energy_kwh': 'the model of a clear sky, by the given panels',
  'pv-forecast.data.days[].energy_kwh': 'the model of a clear sky, by the given panels',
  'pv-forecast.data.remaining_today_kwh': 'the model of a clear sky, by the given panels',
  'fleet-utilization.items_per_hour': 'requests are counted here',
  'ops-daily-status.fleet.items_per_hour': 'requests are counted here',
  'testcenter.fleet.items_per_hour': 'requests are counted here',
  'get_queue_board.total.cost_eur': 'a sum over the stored jobs',
  ...Object.fromEntries(
    ['queued', 'running', 'done', 'dead', 'cancelled'].map(status => [
      `get_queue_board.by_status.${status}.cost_eur`,
      'a sum over the stored jobs',
    ]),
  ),
  'run-test-suite.cases[].duration_ms': 'the cases were run',
  'skill-stats.skills[].p50_ms': 'the calls of this test',
  'skill-stats.skills[].p95_ms': 'the calls of this test',
  'skill-stats.stored.skills[].mean_ms': 'the calls of this test',
  'system-analytics.operations[].mean_ms': 'the calls of this test',
  'vram-guard.warn_above_percent': 'a constant',
  'vram-guard.critical_above_percent': 'a constant',
  'layer-query.coverage.covered_percent': 'the controls and checks of the service itself',
  'synesthetic-translate.matches[].score': 'the skills of the service itself',
  'get_metamorphosis_status.legit_percent': 'the catalogue and the keys of the test',
}

/** Paths of computed fields that are not null. */
const listComputed = (value: unknown, path: string): string[] => {
  if (Array.isArray(value)) return value.flatMap(each => listComputed(each, `${path}[]`))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, each]) => listComputed(each, `${path}.${name}`))
  return value !== null && value !== 'unknown' && COMPUTED.test(path) ? [path] : []
}

/** Computed fields of the answers to skills that answer from data. */
const listFigures = (from: Map<string, ExampleAnswer[]>): Set<string> =>
  new Set(
    skills
      .filter(({ constantBecause }) => constantBecause === undefined)
      .flatMap(({ id }) =>
        of(from, id).flatMap(({ status, body }) => (status === 200 ? listComputed(body, id) : [])),
      ),
  )

t.test('without data no answer has a figure or a verdict', async t => {
  t.strictSame(listFigures(answers.empty), new Set(Object.keys(EVIDENT)))
})

/** A copy of an answer in which every computed field that is null has a figure. */
const plant = (value: unknown, path: string): unknown => {
  if (Array.isArray(value)) return value.map(each => plant(each, `${path}[]`))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, plant(each, `${path}.${name}`)]),
    )
  return value === null && COMPUTED.test(path) ? 100 : value
}

t.test('a figure that is made up in the answer of a skill is found', async t => {
  const lies = new Map(
    [...answers.empty].map(([id, all]) => [
      id,
      all.map(answer => ({ ...answer, body: plant(answer.body, id) as ExampleAnswer['body'] })),
    ]),
  )
  const found = [...listFigures(lies)].filter(path => !(path in EVIDENT))
  for (const path of [
    ...['tenant-health.score', 'tenant-health.level', 'tenant-metrics.error_percent'],
    ...['cost-analysis.total_eur', 'cost-analysis.energy.price_eur_per_kwh'],
    ...['fleet-utilization.composite_percent', 'swarm-analytics.totals.reached_percent'],
  ])
    t.ok(found.includes(path), path)
})

/** Such fields whose null means "none", with what there is none of. */
const NONE: Readonly<Record<string, string>> = {
  'skill-stats.skills[].p50_ms': 'calls of the skill',
  'skill-stats.skills[].p95_ms': 'calls of the skill',
  'testcenter.synergies.health_percent': 'synergies',
  'gantt_schedule.pert.target_probability_percent': 'a target in the input',
  'gantt_schedule.simulation.target_probability_percent': 'a target in the input',
  'usecase_cost_calc.schedule.tasks[].criticality_percent': 'a simulation in the input',
}

/** Paths of computed fields that are null. */
const listNulls = (value: unknown, path: string): string[] => {
  if (Array.isArray(value)) return value.flatMap(each => listNulls(each, `${path}[]`))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, each]) =>
      listNulls(each, path === '' ? name : `${path}.${name}`),
    )
  return value === null && COMPUTED.test(path) ? [path] : []
}

t.test('a figure that is null without data is named with its reason', async t => {
  const silent = skills.flatMap(({ id }) =>
    of(answers.empty, id)
      .filter(({ status }) => status === 200)
      .flatMap(({ body }) => {
        const named = new Set((body.unknown as { field: string }[]).map(({ field }) => field))
        return listNulls(body, '')
          .filter(path => !named.has(path))
          .map(path => `${id}.${path}`)
      }),
  )
  t.strictSame(new Set(silent), new Set(Object.keys(NONE)))
})

t.test('an empty answer says what brings data, or why a module found nothing', async t => {
  const silent = skills.flatMap(({ id }) =>
    Object.values(answers)
      .flatMap(each => of(each, id))
      .filter(({ body }) => body.data_state === 'empty')
      .filter(({ body: { to_load, remedy, cells, warnings, modules } }) =>
        [to_load, remedy, cells, warnings, modules].every(
          each => each === undefined || each === null,
        ),
      )
      .map(() => id),
  )
  t.strictSame([...new Set(silent)], [])
})

t.test('every operation has an example of its response, which a real answer gave', async t => {
  const asked = await callOperations(organisation)
  const unexpected = [...asked].filter(([id, { status }]) => status >= 300 !== id in NOT_ANSWERED)
  t.strictSame(unexpected, [])
  const examples = readResponseExamples()
  const fresh = createResponseExamples(joinAnswers(answers.own, asked))
  t.strictSame([...examples.keys()], Object.keys(fresh), 'npm run docs makes the file')
  const declared = [...skills, ...operations]
  const renew = (stored: typeof examples) =>
    Object.entries(keepCurrentExamples(fresh, stored, declared)).flatMap(([id, { value }]) =>
      isDeepStrictEqual(value, stored.get(id)?.value) ? [] : [id],
    )
  t.strictSame(renew(examples), [], 'and leaves every example that still has its form')
  const old = { ...(examples.get('cells-show') as ResponseExample), value: { id: 'cell_1' } }
  t.strictSame(renew(new Map([...examples, ['cells-show', old]])), ['cells-show'])
  const fieldsOf = ({ value }: { value: unknown }) =>
    Array.isArray(value) || typeof value !== 'object' ? [] : Object.keys(value ?? {}).sort()
  t.strictSame(
    [...examples.values()].map(({ id, status, type, ...example }) => [
      ...[id, status, type],
      ...fieldsOf(example),
    ]),
    Object.entries(fresh).map(([id, { status, type, ...example }]) => [
      ...[id, status, type],
      ...fieldsOf(example),
    ]),
  )
})

t.test('every example in the API document is valid by its schema there', async t => {
  const document = (await empty.app.inject('/v1/openapi.json')).json()
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', ...document })
  const part = (name: string) =>
    encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
  const found: string[] = []
  for (const [path, methods] of Object.entries<Record<string, Described>>(document.paths))
    for (const [method, { operationId, responses }] of Object.entries(methods))
      for (const [status, { content = {} }] of Object.entries(responses))
        for (const [type, { example }] of Object.entries(content)) {
          if (example === undefined) continue
          found.push(operationId)
          const at = ['paths', path, method, 'responses', status, 'content', type, 'schema']
          const valid = ajv.compile({ $ref: `document#/${at.map(part).join('/')}` })
          t.ok(valid(example), `${operationId}: ${ajv.errorsText(valid.errors)}`)
        }
  t.strictSame(found.sort(), [...readResponseExamples().keys()].sort())
})

interface Described {
  operationId: string
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>
}

const PAGE = resolve(import.meta.dirname, '../../docs/skills.md')

t.test('the documented examples are true; npm run docs makes them', async t => {
  const page = readFileSync(PAGE, 'utf8')
  for (const skill of skills) {
    const [, section = ''] = page.split(`\n### ${skill.id}\n`)
    const [documented = ''] = section.split('\n### ')
    const [answer] = of(answers.own, skill.id)
    if (answer === undefined) t.fail(`${skill.id} was not called`)
    else t.ok(documented.includes(formatWorkedExample(skill, answer).join('\n')), skill.id)
  }
  t.strictSame(listOutdated(answers.own), [])
})
