import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { replacePrivate } from '../../shared/private-file.ts'
import { replaceFile } from '../../shared/replace-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'shoal-private-'))
t.teardown(() => rmSync(folder, { recursive: true }))

/** Mounts a file over another one; returns why not where that is not allowed. */
const mountOver = (source: string, target: string): string | undefined => {
  try {
    execFileSync('mount', ['--bind', source, target], { stdio: 'pipe' })
    return undefined
  } catch {
    return 'a file can be mounted only by root'
  }
}

const source = join(folder, 'of-the-host')
const mounted = join(folder, 'mounted')
for (const path of [source, mounted]) writeFileSync(path, 'a longer text\n')
const reason = mountOver(source, mounted)
if (reason === undefined) t.teardown(() => execFileSync('umount', [mounted]))

t.test('a file that is a mount point is replaced in place', { skip: reason ?? false }, async t => {
  await replacePrivate(mounted, 'short\n')
  for (const path of [source, mounted]) t.equal(readFileSync(path, 'utf8'), 'short\n')
  t.strictSame(readdirSync(folder).toSorted(), ['mounted', 'of-the-host'])
})

t.test('another file is replaced by a new one', async t => {
  const path = join(folder, 'sub', 'file')
  await replacePrivate(path, 'first')
  await replacePrivate(path, 'second')
  t.equal(readFileSync(path, 'utf8'), 'second')
  t.strictSame(readdirSync(join(folder, 'sub')), ['file'])
})

t.test('a configuration file is replaced without following a link beside it', async t => {
  const inside = mkdtempSync(join(folder, 'settings-'))
  const [path, victim] = [join(inside, 'shoald.yaml'), join(inside, 'victim')]
  writeFileSync(path, 'name: a\n')
  chmodSync(path, 0o640)
  writeFileSync(victim, 'of another user\n', { mode: 0o600 })
  symlinkSync(victim, `${path}.new`)
  replaceFile(path, 'name: b\n')
  t.equal(readFileSync(path, 'utf8'), 'name: b\n')
  t.equal(statSync(path).mode & 0o777, 0o640)
  t.equal(readFileSync(victim, 'utf8'), 'of another user\n')
  t.equal(statSync(victim).mode & 0o777, 0o600)
  t.strictSame(readdirSync(inside).toSorted(), ['shoald.yaml', 'shoald.yaml.new', 'victim'])
})
