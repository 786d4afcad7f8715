/**
 * Sockets and timers that keep this process alive. A destroyed socket is closed in the next turn of
 * the event loop.
 */
export const listOpenResources = async (): Promise<string[]> => {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  return process.getActiveResourcesInfo().filter(name => /TCP|UDP|Timeout/.test(name))
}
