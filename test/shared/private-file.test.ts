import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { replacePrivate } from '../../shared/private-file.ts'

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
