import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..', '..', '..')

/** The files of a commit, in a folder of their own with the packages of this tree. */
export interface UnpackedTree {
  name: string
  folder: string
  /** Name of its coordinator for `Process`, which looks for programs in our own folder. */
  program: string
  remove(): void
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

export const unpackTree = (wanted: string): UnpackedTree => {
  const name = git('rev-parse', '--short', wanted)
  const folder = mkdtempSync(join(tmpdir(), 'shoal-tree-'))
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  const archive = execFileSync('git', ['archive', name], { cwd: root, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', tree], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  return {
    name,
    folder: tree,
    program: relative(join(root, 'bin'), join(tree, 'bin', 'shoal-coordinator')),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
