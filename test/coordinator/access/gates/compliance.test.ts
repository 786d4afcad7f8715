import t from 'tap'
import { type CheckResult, listChecks } from '../../../../coordinator/access/gates/checks.ts'
import {
  FRAMEWORK_IDS,
  loadFeatures,
  loadFrameworks,
} from '../../../../coordinator/access/gates/compliance/frameworks.ts'
import { reportHtml, reportText } from '../../../../coordinator/access/gates/compliance/print.ts'
import {
  complianceReport,
  Declarations,
} from '../../../../coordinator/access/gates/compliance/report.ts'

const CHECK_IDS = listChecks().map(({ id }) => id)

const results = (passed: boolean): CheckResult[] =>
  CHECK_IDS.map(id => ({
    id,
    title: `title of ${id}.`,
    evidence: 'GET /x',
    passed,
    reason: passed ? undefined : '<b>broken</b>',
  }))
const NONE = Declarations.parse({})
const stateOf = (control: string, passed: boolean, declarations = NONE) =>
  complianceReport('eu-ai-act', results(passed), declarations).controls.find(
    ({ id }) => id === control,
  )

t.test('each control of the frameworks occurs once and names only existing evidence', async t => {
  const frameworks = loadFrameworks()
  t.equal(frameworks.iso42001.controls.length, 38)
  const articles = (id: 'eu-ai-act' | 'gdpr') =>
    frameworks[id].controls.map(control => Number(control.id.replace('art. ', '')))
  t.strictSame(articles('eu-ai-act'), [4, 9, 10, 11, 12, 13, 14, 15, 19, 26, 50, 72, 73])
  t.strictSame(
    articles('gdpr'),
    [5, 6, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 25, 28, 30, 32, 33, 34, 35],
  )
  const wrong = FRAMEWORK_IDS.flatMap(id => {
    const { controls } = frameworks[id]
    t.equal(new Set(controls.map(control => control.id)).size, controls.length)
    return controls.filter(
      ({ checks, features: named, duty }) =>
        checks.some(name => !CHECK_IDS.includes(name)) ||
        named.some(name => !Object.hasOwn(loadFeatures(), name)) ||
        (checks.length + named.length === 0 && duty === undefined),
    )
  })
  t.strictSame(wrong, [])
})

t.test('the state of a control follows from its evidence', async t => {
  const done = { state: 'done', evidence: 'folder 7', by: 'Ada', on: '2026-11-01' }
  const declared = Declarations.parse({ 'eu-ai-act/art. 4': done, 'eu-ai-act/art. 9': done })
  t.match(stateOf('art. 12', true), { state: 'evidence_found', open: [] })
  t.match(stateOf('art. 12', false), { state: 'missing', evidence: [] })
  t.match(stateOf('art. 9', true), { state: 'partly', open: [/Nobody has declared it/] })
  t.match(stateOf('art. 9', true, declared), {
    state: 'evidence_found',
    evidence: [/./, /./, /Ada on 2026/],
  })
  t.match(stateOf('art. 9', false, declared), { state: 'partly' })
  t.match(stateOf('art. 4', true), { state: 'missing' })
  t.match(stateOf('art. 4', true, declared), { state: 'evidence_found' })
  const away = Declarations.parse({
    'eu-ai-act/art. 73': { ...done, state: 'not_applicable', evidence: 'not high-risk' },
  })
  t.match(stateOf('art. 73', true, away), {
    state: 'not_applicable',
    evidence: ['does not apply: not high-risk (Ada, 2026-11-01)'],
  })
  t.throws(() => Declarations.parse({ 'art. 4': done }))
  t.throws(() => Declarations.parse({ 'gdpr/art. 300': done }), /no such control/)
})

t.test('the report can be read and printed, executes nothing, and is not a verdict', async t => {
  const reports = FRAMEWORK_IDS.map(id => complianceReport(id, results(false), NONE))
  const text = reportText(reports, '2026-11-20')
  const html = reportHtml(reports, '2026-11-20')
  t.match(text, /\[ \] art\. 12 {2}Record-keeping/)
  for (const report of [text, html]) {
    t.match(report, /evidence found \d+, partly \d+, missing \d+, not applicable \d+/)
    t.notMatch(report, /\bmet\b/)
  }
  t.notOk(html.includes('<b>broken'))
  t.notMatch(html, /<script|src=|href=/)
  const verdicts = [text, html].join('\n').match(/compliant/gi) ?? []
  t.equal(verdicts.length, 2, 'only the note that it is none')
  for (const { counts, controls } of reports)
    t.equal(
      Object.values(counts).reduce((a, b) => a + b),
      controls.length,
    )
})
