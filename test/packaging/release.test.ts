import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import {
  listObstacles,
  readReleaseFacts,
  readSections,
  readVersions,
} from '../../packaging/release-facts.ts'
import { listUnnamed, selectContained } from '../../packaging/sbom.ts'

const root = resolve(import.meta.dirname, '..', '..')
const NOW = new Date('2026-03-04T12:00:00Z')
const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-03-04\n\n- New.\n\n## 1.1.0 - 2026-01-31\n\n- Old.\n'
const FILES: Record<string, string> = {
  'CHANGELOG.md': CHANGELOG,
  'package.json': '{\n  "version": "1.2.0"\n}\n',
  'package-lock.json': '{\n  "version": "1.2.0"\n}\n',
  'clients/typescript/package.json': '{\n  "version": "1.2.0"\n}\n',
  'clients/python/pyproject.toml': '[project]\nversion = "1.2.0"\n',
  'packaging/gpu-engines/package.json': '{\n  "version": "1.2.0"\n}\n',
}

/** A checkout that can be released, with some files replaced before its only commit. */
const makeCheckout = (folder: string, replaced: Record<string, string> = {}) => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
      cwd: folder,
      encoding: 'utf8',
    })
  for (const [path, text] of Object.entries({ ...FILES, ...replaced })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  git('init', '--quiet')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'first')
  return git
}

const judge = (folder: string) => listObstacles(readReleaseFacts(folder, NOW))

t.test('a release needs a clean checkout, and a tag that is free or at its commit', async t => {
  const folder = t.testdir()
  const git = makeCheckout(folder)
  t.strictSame(judge(folder), [])
  git('tag', '--annotate', 'v1.2.0', '--message', 'shoal 1.2.0')
  t.strictSame(judge(folder), [], 'an annotated tag counts as its commit')
  writeFileSync(join(folder, 'note'), '')
  t.strictSame(judge(folder), ['git: commit or remove the changes of git status (1)'])
  git('add', '--all')
  git('commit', '--quiet', '--message', 'second')
  t.match(judge(folder), [/^git: the tag v1\.2\.0 exists at [0-9a-f]{12}; raise the version$/])
})

t.test('every file states the version of the release', async t => {
  const folder = t.testdir()
  makeCheckout(folder, { 'clients/python/pyproject.toml': '[project]\nversion = "1.1.0"\n' })
  t.strictSame(judge(folder), [
    'clients/python/pyproject.toml: its version is "1.1.0" and that of package.json 1.2.0',
  ])
})

const REFUSED: [title: string, from: string, to: string, obstacle: RegExp][] = [
  ['without a date', '1.2.0 - 2026-03-04', '1.2.0', /add the date: "## 1\.2\.0 - 2026-03-04"/],
  ['of tomorrow', '1.2.0 - 2026-03-04', '1.2.0 - 2026-03-05', /2026-03-05 is in the future/],
  ['with a date in words', '1.2.0 - 2026-03-04', '1.2.0 - soon', /"soon" is not a date/],
  ['without an entry', '- New.', '', /the section 1\.2\.0 is empty/],
  [
    'with lines left',
    '## Unreleased\n',
    '## Unreleased\n- More.\n',
    /move the lines of Unreleased/,
  ],
  ['without the next section', '## Unreleased\n', '', /add an empty section "## Unreleased"/],
  ['of an older version', '1.2.0 - 2026-03-04', '1.3.0 - 2026-03-04', /newest release is 1\.3\.0/],
]

t.test('a changelog is refused', async t => {
  const folder = t.testdir()
  makeCheckout(folder)
  const facts = readReleaseFacts(folder, NOW)
  for (const [title, from, to, obstacle] of REFUSED) {
    const sections = readSections(CHANGELOG.replace(from, to))
    t.match(listObstacles({ ...facts, sections }), [obstacle], title)
  }
})

t.test('the changelog and the versions of this tree can become a release', async t => {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const [unreleased, newest] = readSections(text)
  const versions = readVersions(root)
  const { 'package.json': version } = versions
  t.equal(unreleased?.title, 'Unreleased')
  t.equal(newest?.title, version)
  for (const [path, each] of Object.entries(versions)) t.equal(each, version, path)
  t.ok((newest?.text.split(/\s+/).length ?? 0) <= 700, 'a user reads it in about two minutes')
})

const SBOM = {
  metadata: { component: { 'bom-ref': 'shoal@1.2.0', name: 'checkout' } },
  components: [{ 'bom-ref': 'a@1.0.0' }, { 'bom-ref': 'dev@1.0.0' }],
  dependencies: [
    { ref: 'shoal@1.2.0', dependsOn: ['a@1.0.0', 'dev@1.0.0'] },
    { ref: 'dev@1.0.0', dependsOn: ['a@1.0.0'] },
  ],
}

t.test('the SBOM names the contained packages, and missing ones are listed', async t => {
  const contained = new Set(['a@1.0.0', 'b@1.0.0'])
  const sbom = selectContained(SBOM, contained)
  t.strictSame(sbom, {
    metadata: { component: { 'bom-ref': 'shoal@1.2.0', name: 'shoal' } },
    components: [{ 'bom-ref': 'a@1.0.0' }],
    dependencies: [{ ref: 'shoal@1.2.0', dependsOn: ['a@1.0.0'] }],
  })
  t.strictSame(listUnnamed(sbom, contained), ['b@1.0.0'])
})
