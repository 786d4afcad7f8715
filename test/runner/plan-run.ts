import { readFileSync } from 'node:fs'
import { sep } from 'node:path'
import { SLOW_FILES } from './slow-files.ts'

/** Files in one process: enough to share the loading, few enough that the last one to end is short. */
const GROUP_SIZE = 10
/** Expressions with which a file changes or measures its whole process. */
const OWN_PROCESS =
  /globalThis|process\.(env|exitCode|memoryUsage|once?\()|t\.setTimeout|syncBuiltin/

/**
 * Divides test files into those that run in one process, in the order in which they start: slow files
 * each alone and first, so that none of them ends the run by itself, then neighbours of a folder.
 */
export const planRun = (files: readonly string[]): (readonly string[])[] => {
  const slow = SLOW_FILES.filter(file => files.includes(file))
  const groups = new Map<string, string[][]>()
  const alone: string[][] = slow.map(file => [file])
  for (const file of files) {
    if (SLOW_FILES.includes(file)) continue
    if (needsOwnProcess(file)) alone.push([file])
    else addToGroup(groups, file)
  }
  return [...alone, ...[...groups.values()].flat()]
}

/** A file that does not exist is left to its own process, which says so. */
const needsOwnProcess = (file: string): boolean => {
  try {
    return OWN_PROCESS.test(readFileSync(file, 'utf8'))
  } catch {
    return true
  }
}

const addToGroup = (groups: Map<string, string[][]>, file: string): void => {
  const folder = file.split(sep, 2).join(sep)
  const ofFolder = groups.get(folder) ?? []
  groups.set(folder, ofFolder)
  const last = ofFolder.at(-1)
  if (last !== undefined && last.length < GROUP_SIZE) last.push(file)
  else ofFolder.push([file])
}
