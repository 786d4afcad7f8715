import { execFileSync } from 'node:child_process'
import { basename, dirname, join } from 'node:path'
import type { Import } from '../../bin/arrows/walk.ts'
import { isWaiting, SLOW_FILES } from './slow-files.ts'

/** Files of the working tree that differ from a commit, untracked ones too; paths from the root. */
export const listChanged = (root: string, since: string): string[] => {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)
  return [
    ...git('diff', '--name-only', '--no-renames', '-z', since),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ].toSorted()
}

/**
 * The changed files and those that import them, also through others, with the number of imports
 * between.
 */
const measureDistances = (
  importers: ReadonlyMap<string, readonly Import[]>,
  changed: readonly string[],
): Map<string, number> => {
  const distances = new Map(changed.map(file => [file, 0]))
  for (const [file, distance] of distances)
    for (const importer of importers.get(file) ?? [])
      if (!distances.has(importer.file)) distances.set(importer.file, distance + 1)
  return distances
}

/** Tells sources from documents and tables of data, which tests read by their names. */
const isSource = (file: string): boolean => /\.m?ts$/.test(file)

const namesOne = (text: string, names: readonly string[]): boolean =>
  names.some(name => text.includes(name))

/** `test/a/b` for a source `a/b/c.ts`, or the nearest folder above it that has tests. */
const folderOfTests = (file: string, tests: readonly string[]): string => {
  const isThere = (folder: string): boolean => tests.some(test => test.startsWith(`${folder}/`))
  let folder = dirname(file.startsWith('test/') ? file : join('test', file))
  while (folder !== 'test' && !isThere(folder)) folder = dirname(folder)
  return folder
}

/** Number of leading folders that two paths have in common, without the `test/` of a test. */
const countCommon = (file: string, test: string): number => {
  const [ours, theirs] = [file, test].map(path => path.replace(/^test\//, '').split('/'))
  const at = (ours ?? []).findIndex((name, n) => name !== theirs?.[n])
  return at < 0 ? (ours ?? []).length : at
}

/**
 * Tests that a change touches, the nearest first: a test that has changed or that names a changed
 * document, then by the imports between, then by the folders in common. A source that no test
 * imports is loaded by its name, and the tests of its folder are its own. Slow tests come only as
 * the nearest.
 */
export const listTouched = (
  imports: readonly Import[],
  changed: readonly string[],
  tests: readonly string[],
  readText: (test: string) => string,
): string[] => {
  const sources = changed.filter(isSource)
  const names = changed.filter(file => !isSource(file)).map(file => basename(file))
  // imports of types change nothing at run time
  const values = imports.filter(({ isType }) => !isType)
  const importers = Map.groupBy(values, ({ target }) => target)
  const distances = measureDistances(importers, sources)
  for (const source of sources) {
    const own = measureDistances(importers, [source])
    if (tests.some(test => own.has(test))) continue
    const folder = folderOfTests(source, tests)
    if (folder === 'test') continue
    for (const test of tests) if (test.startsWith(`${folder}/`)) distances.set(test, 0)
  }
  const distanceOf = (test: string): number | undefined =>
    names.length > 0 && namesOne(readText(test), names) ? 0 : distances.get(test)
  const isSlow = (test: string) => SLOW_FILES.includes(test) || isWaiting(test)
  return tests
    .map(test => ({
      test,
      distance: distanceOf(test),
      common: Math.max(...changed.map(file => countCommon(file, test))),
    }))
    .filter(({ test, distance }) => distance === 0 || (distance !== undefined && !isSlow(test)))
    .toSorted((a, b) => (a.distance ?? 0) - (b.distance ?? 0) || b.common - a.common)
    .map(({ test }) => test)
}
