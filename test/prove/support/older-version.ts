import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..', '..', '..')

/** The files of an earlier commit. */
export interface OlderVersion {
  commit: string
  /** Name of its coordinator for `Process`, which looks for programs in our own folder. */
  program: string
  remove(): void
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

/** The last commit without the newest change of the schema. */
const findCommitBefore = (): string => {
  const lists = ['coordinator/store/migrations.ts', 'coordinator/store/record-migrations.ts']
  return git('rev-parse', `${git('log', '-1', '--first-parent', '--format=%H', '--', ...lists)}^`)
}

/** Unpacks a commit into a folder of its own, with the packages of this tree. */
export const unpackOlder = (wanted?: string): OlderVersion => {
  const commit = git('rev-parse', '--short', wanted ?? findCommitBefore())
  const folder = mkdtempSync(join(tmpdir(), 'shoal-older-'))
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', tree], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  return {
    commit,
    program: relative(join(root, 'bin'), join(tree, 'bin', 'shoal-coordinator')),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
