import { readFileSync } from 'node:fs'
import { sep } from 'node:path'
import { SLOW_FILES } from './slow-files.ts'

/** Files in one process: enough to share the loading, few enough that the last one to end is short. */
const GROUP_SIZE = 30
/** Slow files that have a process of their own; the others are a few in each. */
export const SLOWEST = 24
const SLOW_GROUP_SIZE = 4
/** Expressions with which a file changes or measures its whole process. */
const OWN_PROCESS =
  /globalThis|process\.(env|exitCode|memoryUsage|once?\()|t\.setTimeout|syncBuiltin|\(import\.meta\.url\)\.cache/

/**
 * Divides test files into those that run in one process, in the order in which they start: the slowest
 * each alone and first, so that none of them ends the run by itself, then slow ones, then neighbours
 * of a folder.
 */
export const planRun = (files: readonly string[]): (readonly string[])[] => {
  const slow = SLOW_FILES.filter(file => files.includes(file))
  const others = files.filter(file => !SLOW_FILES.includes(file))
  const isSlowest = (file: string): boolean => SLOW_FILES.indexOf(file) < SLOWEST
  return [
    ...slow.filter(isSlowest).map(file => [file]),
    ...group(
      slow.filter(file => !isSlowest(file)),
      SLOW_GROUP_SIZE,
      () => 'slow',
    ),
    ...group(others, GROUP_SIZE, folderOf),
  ]
}

const folderOf = (file: string): string => file.split(sep, 2).join(sep)

/** First the files that need a process of their own, then groups of those with the same key. */
const group = (
  files: readonly string[],
  size: number,
  keyOf: (file: string) => string,
): (readonly string[])[] => {
  const alone = files.filter(needsOwnProcess)
  const together = files.filter(file => !alone.includes(file))
  const groups = Object.values(Object.groupBy(together, keyOf))
  return [...alone.map(file => [file]), ...groups.flatMap(each => splitEvery(each ?? [], size))]
}

const splitEvery = (files: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(files.length / size) }, (_, at) =>
    files.slice(at * size, (at + 1) * size),
  )

/** A file that does not exist is left to its own process, which says so. */
const needsOwnProcess = (file: string): boolean => {
  try {
    return OWN_PROCESS.test(readFileSync(file, 'utf8'))
  } catch {
    return true
  }
}
