/* Thread of `parent-watch.ts`. */

const LOOK_MS = 1000

const parent = process.ppid
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
}, LOOK_MS)
