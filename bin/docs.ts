import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { cliOf, isTool } from '../coordinator/kernel/declaration/declaration.ts'
import { type JsonSchema, jsonSchema } from '../coordinator/kernel/declaration/json-schema.ts'
import type { Operation } from '../coordinator/kernel/declaration/operation.ts'
import type { Skill } from '../coordinator/kernel/declaration/skill.ts'
import { listDeclaring } from '../coordinator/surfaces/catalogue/load.ts'
import { operations } from '../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../coordinator/surfaces/catalogue/skills.ts'
import { readResponseExamples } from '../coordinator/surfaces/http/docs/response-examples.ts'
import { PASSED_ON } from '../daemon/helper/environment.ts'
import { CLASS_OF_REACH } from '../daemon/helper/helper-class.ts'
import { HOST_PROBES } from '../shared/probes/host-probes.ts'
import type { HostProbe } from '../shared/probes/probe.ts'
import { clientTypes } from './client-types.ts'
import { formatNeeds } from './format-needs.ts'
import { formatRegisterFields } from './register-fields-page.ts'
import {
  createResponseExamples,
  formatResponseExamples,
  keepCurrentExamples,
} from './response-examples.ts'
import { upstreamSourcesPage } from './upstream-sources-page.ts'
import { type ExampleAnswer, formatWorkedExample } from './worked-example.ts'

const ROOT = resolve(import.meta.dirname, '..')

const commandOf = (operation: Operation): string => {
  const { group, verb, file } = cliOf(operation)
  const takesFile = file !== undefined || operation.upload !== undefined
  return [group, verb, ...(takesFile ? ['<file>'] : [])].join(' ')
}

/** Answers to the examples of the skills, by skill. */
type Answers = ReadonlyMap<string, readonly ExampleAnswer[]>

/** docs/skills.md, made from the lists and from answers of the example organisation. */
const skillsPage = (answers: Answers): string =>
  [
    '# Skills and operations',
    '',
    'Made by `npm run docs` from the lists that the coordinator serves; do not edit it by hand.',
    'A skill is called with `POST /v1/skills/{id}` and its input as the body, or with',
    '`shoal skill run <id>`. `GET /v1/skills/{id}` has the schemas of its input and output.',
    '',
    'Access `none` needs no key, `key` any key, `operator` a key with an operator role (one of',
    'those named, or any). Effect `read` looks, `write` changes data of the coordinator, `gated`',
    'acts on the world and may need approval.',
    '',
    'Each example was answered by a coordinator with the records of `examples/organisation`, one cell with',
    'simulated devices, and stand-ins for outside sources, at noon of 2026-11-20. Long lists and texts are',
    'cut (`…`), and so is what every call has of its own: ids, and times that were measured.',
    '',
    '## Skills',
    '',
    '| id | access | effect | what it does |',
    '|---|---|---|---|',
    ...skills.map(skill => row(link(skill.id), access(skill), skill.effect, skill.description)),
    '',
    ...skills.flatMap(skill => section(skill, answers.get(skill.id)?.[0])),
    '## Other operations',
    '',
    '| route | command | access | effect | what it does |',
    '|---|---|---|---|---|',
    ...operations.map(operation =>
      row(
        code(`${operation.method} ${operation.path}`),
        code(`shoal ${commandOf(operation)}`),
        access(operation),
        operation.effect,
        operation.description,
      ),
    ),
    '',
  ].join('\n')

/** docs/tools.md: each tool of MCP with the one route it is the same as. */
const toolsPage = (): string =>
  [
    '# Tools',
    '',
    'Made by `npm run docs` from the lists that the coordinator serves; do not edit it by hand.',
    'Each tool of the MCP endpoint is one REST route: the same input, output, access and effect.',
    'Operations without a tool, such as the administration of people, keys and policy, have a route and a command.',
    '`/mcp/?toolsets=` takes the names of the first column, with commas; `skills` are all skills.',
    '',
    '| toolset | tool | route | access | effect |',
    '|---|---|---|---|---|',
    ...[...skills, ...operations]
      .filter(isTool)
      .map(tool =>
        row(
          tool.group ?? '',
          code(tool.id),
          code(`${tool.method} ${tool.path}`),
          access(tool),
          tool.effect,
        ),
      ),
    '',
  ].join('\n')

/** docs/host-probes.md: what operators can look at on the machine of a cell. */
const hostProbesPage = (): string =>
  [
    '# Host probes',
    '',
    'Made by `npm run docs` from the files in `shared/probes/host`; do not edit it by hand.',
    '',
    'Operators inspect the machine of a cell with `GET /v1/cells/{cell_id}/host/<probe>`, the tool',
    '`host-<probe>`, or `shoal host <probe> <cell_id>`. A probe is read-only. It returns',
    '`{available, reason, taken_at, cell_id, data}`:',
    '',
    '- `available: false` means that this machine cannot provide the data: `reason` explains why in plain',
    '  words (no battery, no docker engine, a program that is not installed, a missing permission of the',
    '  daemon, an outdated daemon), and `data` is null.',
    '- `data` is the output of the library [systeminformation](https://systeminformation.io) 5.33.23, with',
    '  its field names, without the fields of the last column and without credentials in addresses. It is',
    '  at most 256 KiB; longer lists are truncated, and `reason` gives the number of omitted rows.',
    '- On the command line sizes are in KiB, MiB, GiB; `--format json` prints them unchanged.',
    '- A cell that is disconnected, busy or silent for 15 s results in 503 `cell_unavailable`.',
    '',
    'Identical requests within a second share one answer. The probes run with the permissions of the',
    'daemon: with the packaged unit they see only its own processes (`ProtectProc=invisible`), and no',
    'docker engine.',
    '',
    'The owner of a cell controls the probes in its configuration: `probes.enabled: false` rejects all of',
    'them, and `inet-checksite` and `inet-latency` contact only `probes.allowed_targets`, which is empty by',
    'default.',
    '',
    'Probes run in helper processes of the daemon, one for each class in the table below, so that a hanging',
    'probe does not affect other classes. The first probe of a class starts its helper. The helper has a',
    'lower priority than the daemon, and exits half a minute after the last probe. A probe that exceeds its',
    'time limit is cancelled; if it does not react within 2 s, its process is killed together with all',
    'processes that it has started, and other probes of the class are repeated. Starting a helper takes',
    'about 0.3 s of CPU. Most probes take 10 to 30 ms of CPU, `network-interfaces` 100, `services` 150, and',
    '`versions` 2 s unless single programs are requested. A running helper uses about 110 MB.',
    '',
    'A helper receives the following variables from the environment of the daemon, if they are set there.',
    '`LANG` and `LC_ALL` are always `C.UTF-8`, and `HOME` is `/` unless it is passed on:',
    '',
    '| variable | helpers | purpose |',
    '|---|---|---|',
    ...PASSED_ON.map(({ name, to, why }) => row(code(name), to.join(', '), why)),
    '',
    '| probe | description | parameters | form of data | time limit in seconds | helper | fields that never leave the machine |',
    '|---|---|---|---|---|---|---|',
    ...HOST_PROBES.map(probeRow),
    '',
  ].join('\n')

const probeRow = (probe: HostProbe): string => {
  const { properties = {}, required = [] } = jsonSchema(probe.input) as ObjectSchema
  const parameters = Object.keys(properties).map(
    name => code(name) + (required.includes(name) ? ' (required)' : ''),
  )
  const removed = probe.id === 'uuid' ? ['the ids themselves'] : probe.removed.map(code)
  return row(
    code(probe.id),
    probe.description,
    parameters.join(', '),
    probe.shape,
    String(probe.deadlineSeconds),
    CLASS_OF_REACH[probe.reach],
    removed.join(', '),
  )
}

/** The files that are made from the lists, by their path. */
const PAGES: Readonly<Record<string, (answers: Answers) => string>> = {
  'docs/skills.md': skillsPage,
  'docs/tools.md': toolsPage,
  'docs/host-probes.md': hostProbesPage,
  'docs/upstream-sources.md': upstreamSourcesPage,
  'docs/register-fields.md': formatRegisterFields,
  'clients/typescript/src/operations.ts': () => clientTypes(skills, operations),
  'test/catalogue/needs.ts': () => formatNeeds(listDeclaring(join(ROOT, 'coordinator'))),
}

/** Generated files that are out of date. */
export const listOutdated = (answers: Answers): string[] =>
  Object.entries(PAGES)
    .filter(([path, page]) => !existsSync(join(ROOT, path)) || read(path) !== page(answers))
    .map(([path]) => path)

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const section = (skill: Skill, answer: ExampleAnswer | undefined): string[] => [
  `### ${skill.id}`,
  '',
  `${skill.name}. ${skill.description} Tags: ${skill.tags.join(', ')}.`,
  '',
  ...(skill.constantBecause === undefined
    ? []
    : [`The answer is the same for every tenant. ${skill.constantBecause}`, '']),
  ...fields('input', jsonSchema(skill.input)),
  ...fields('output', jsonSchema(skill.output)),
  ...(answer === undefined ? [] : formatWorkedExample(skill, answer)),
]

interface ObjectSchema {
  properties?: Record<string, JsonSchema>
  required?: string[]
}

const fields = (heading: string, schema: JsonSchema): string[] => {
  const { properties = {}, required = [] } = schema as ObjectSchema
  const names = Object.keys(properties)
  if (names.length === 0) return heading === 'input' ? ['It takes no input.', ''] : []
  return [
    `| ${heading} | type | |`,
    '|---|---|---|',
    ...names.map(name => {
      const property = properties[name] ?? {}
      const needed = heading === 'input' && required.includes(name) ? 'required' : ''
      return row(code(name), typeOf(property), [needed, note(property)].filter(Boolean).join('; '))
    }),
    '',
  ]
}

const typeOf = ({ type, enum: choices, anyOf }: JsonSchema): string => {
  if (Array.isArray(choices)) return choices.map(choice => code(String(choice))).join(' ')
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(' or ')
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any')
}

const note = ({ description, default: preset }: JsonSchema): string =>
  [description, preset === undefined ? '' : `default ${code(JSON.stringify(preset))}`]
    .filter(Boolean)
    .join(' ')

const access = ({ access, roles }: Operation): string =>
  roles === undefined ? access : `${access}: ${roles.join(', ')}`

const code = (text: string): string => `\`${text}\``
const link = (id: string): string => `[${id}](#${id})`
const row = (...cells: string[]): string =>
  `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`

if (import.meta.main) {
  const { answerExamples } = await import('../test/support/organisation/answer-examples.ts')
  const { skills: answers, responses } = await answerExamples()
  for (const [path, page] of Object.entries(PAGES)) writeFileSync(join(ROOT, path), page(answers))
  const path = join(ROOT, 'coordinator/surfaces/http/docs/response-examples.jsonl')
  const stored = existsSync(path) ? readResponseExamples() : new Map()
  const fresh = createResponseExamples(responses)
  const examples = keepCurrentExamples(fresh, stored, [...skills, ...operations])
  writeFileSync(path, formatResponseExamples(examples))
}
