import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Section of the changelog: `## Unreleased`, or `## 0.1.0 - 2026-01-31` with its date once it is released. */
interface ChangelogSection {
  title: string
  date: string | null
  text: string
}

/** Facts that decide whether the sources can be released. */
interface ReleaseFacts {
  /** Versions by file; that of package.json is the product's. */
  versions: Readonly<Record<string, string>>
  /** Sections of the changelog in their order. */
  sections: readonly ChangelogSection[]
  /** Paths that differ from the commit, as `git status` lists them. */
  changed: readonly string[]
  head: string
  /** Commit of the tag of this version; null while the tag is free. */
  tagged: string | null
  /** Date in UTC, `2026-01-31`. */
  today: string
}

export const tagOf = (version: string): string => `v${version}`

/** Sections of a changelog, newest first as it lists them. */
export const readSections = (changelog: string): ChangelogSection[] =>
  changelog
    .split(/^## /m)
    .slice(1)
    .map(section => {
      const [heading = '', ...lines] = section.split('\n')
      const [title = '', date = null] = heading.trim().split(' - ')
      return { title, date, text: lines.join('\n').trim() }
    })

export const readReleaseFacts = (root: string, now: Date): ReleaseFacts => {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const versions = readVersions(root)
  const tag = tagOf(versions['package.json'] ?? '')
  return {
    versions,
    sections: readSections(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')),
    changed: git('status', '--porcelain').split('\n').filter(Boolean),
    head: git('rev-parse', 'HEAD'),
    tagged:
      git('for-each-ref', '--format=%(*objectname) %(objectname)', `refs/tags/${tag}`).split(
        ' ',
      )[0] || null,
    today: now.toISOString().slice(0, 10),
  }
}

const VERSION_FILES = [
  'package.json',
  'package-lock.json',
  'clients/typescript/package.json',
  'clients/python/pyproject.toml',
  'packaging/gpu-engines/package.json',
]

/** Versions of the product by file. */
export const readVersions = (root: string): Record<string, string> =>
  Object.fromEntries(
    VERSION_FILES.map(path => [path, findVersion(readFileSync(join(root, path), 'utf8'))]),
  )

/** First version of a file, which JSON and TOML state before those of dependencies. */
const findVersion = (text: string): string =>
  /^(?: {2}"version": |version = )"([^"]+)"/m.exec(text)?.[1] ?? ''

/** Reasons against a release; none when it can be made. */
export const listObstacles = (facts: ReleaseFacts): string[] => [
  ...judgeVersions(facts),
  ...judgeChangelog(facts),
  ...judgeCheckout(facts),
]

const judgeVersions = ({ versions }: ReleaseFacts): string[] => {
  const version = versions['package.json'] ?? ''
  if (!/^\d+\.\d+\.\d+$/.test(version))
    return [`package.json: the version "${version}" is not major.minor.patch`]
  return Object.entries(versions)
    .filter(([, each]) => each !== version)
    .map(([path, each]) => `${path}: its version is "${each}" and that of package.json ${version}`)
}

const judgeChangelog = ({ versions, sections, today }: ReleaseFacts): string[] => {
  const version = versions['package.json'] ?? ''
  const unreleased = sections.find(({ title }) => title === 'Unreleased')
  const newest = sections.find(({ title }) => title !== 'Unreleased')
  if (newest?.title !== version)
    return [`CHANGELOG.md: the newest release is ${newest?.title ?? 'missing'}, not ${version}`]
  return [
    ...(newest.text === '' ? [`CHANGELOG.md: the section ${version} is empty`] : []),
    ...judgeDate(newest, today),
    ...(unreleased === undefined ? ['CHANGELOG.md: add an empty section "## Unreleased"'] : []),
    ...(unreleased?.text ? [`CHANGELOG.md: move the lines of Unreleased to ${version}`] : []),
  ]
}

const judgeDate = ({ title, date }: ChangelogSection, today: string): string[] => {
  if (date === null) return [`CHANGELOG.md: add the date: "## ${title} - ${today}"`]
  const isDate = /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date))
  if (!isDate) return [`CHANGELOG.md: "${date}" is not a date such as ${today}`]
  return date > today ? [`CHANGELOG.md: ${date} is in the future`] : []
}

const judgeCheckout = ({ versions, changed, head, tagged }: ReleaseFacts): string[] => {
  const tag = tagOf(versions['package.json'] ?? '')
  return [
    ...(changed.length > 0
      ? [`git: commit or remove the changes of git status (${changed.length})`]
      : []),
    ...(tagged !== null && tagged !== head
      ? [`git: the tag ${tag} exists at ${tagged.slice(0, 12)}; raise the version`]
      : []),
  ]
}
