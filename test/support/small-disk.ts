import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/*
 * A disk of a few megabytes for one process, in memory, mounted in a namespace of its own: no
 * privileges are needed where unprivileged user namespaces are allowed, and nothing is left mounted.
 */

const MOUNT = `set -e
folder="$1" size="$2"; shift 2
mv "$folder" "$folder-seed"; mkdir "$folder"
mount -t tmpfs -o "size=$size,mode=700" tmpfs "$folder"
cp -a "$folder-seed/." "$folder"
exec "$@"`

/** The words before a command that give it a small disk with what is in the folder. */
export const onSmallDisk = (folder: string, bytes: number): string[] => [
  ...['unshare', '--user', '--map-root-user', '--mount'],
  ...['sh', '-c', MOUNT, 'sh', folder, String(bytes)],
]

/** Why there can be no such disk here; undefined when there can. */
export const smallDiskProblem = (): string | undefined => {
  try {
    const words = ['--user', '--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']
    execFileSync('unshare', words, { stdio: 'pipe' })
    return undefined
  } catch {
    return 'user namespaces are not allowed here'
  }
}

/** Fills the disk of a process to its last byte; the answer gives the room back. */
export const fillDisk = (pid: number, folder: string): (() => void) => {
  const path = join(`/proc/${pid}/root`, folder, 'ballast')
  const file = openSync(path, 'w')
  for (const bytes of [1 << 16, 1 << 12])
    try {
      for (;;) writeSync(file, Buffer.alloc(bytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  closeSync(file)
  return () => rmSync(path)
}
