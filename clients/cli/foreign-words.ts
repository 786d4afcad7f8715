/** Commands of other tools, with the command of this program that does the same. */
const AT_START: Record<string, string> = {
  status: 'shoal health shows the state of the service, shoal top that of the fleet',
  ps: 'shoal top shows the fleet, shoal models list the models, shoal tasks list the tasks',
  ls: 'a group comes first: shoal cells list, shoal models list, shoal devices list',
  list: 'a group comes first: shoal cells list, shoal models list, shoal devices list',
  get: 'a group comes first: shoal cells list, shoal cells show ID',
  describe: 'a group comes first: shoal cells show ID, shoal devices show ID',
  show: 'a group comes first: shoal cells show ID, shoal devices show ID',
  rm: 'a group comes first: shoal models remove ID, shoal cells revoke ID, shoal keys revoke ID',
  delete:
    'a group comes first: shoal models remove ID, shoal cells revoke ID, shoal keys revoke ID',
  remove:
    'a group comes first: shoal models remove ID, shoal cells revoke ID, shoal keys revoke ID',
  run: 'shoal chat --model ID asks a model, shoal devices run carries out a command, shoal skills run a skill',
  exec: 'shoal devices run carries out a command of a device, shoal skills run a skill',
  logs: 'journalctl -u shoal-coordinator or -u shoald shows the logs; npm start keeps them in the folder logs of its state folder; shoal events watch shows what happens',
  pull: 'shoal models pull ID downloads a model',
}

/** Verbs of other tools, with those that this program has for them. */
const IN_GROUP: Record<string, readonly string[]> = {
  ls: ['list'],
  ps: ['list'],
  get: ['show', 'list'],
  describe: ['show'],
  inspect: ['show'],
  info: ['show'],
  status: ['show', 'list'],
  rm: ['remove', 'delete', 'revoke'],
  delete: ['remove', 'revoke'],
  remove: ['delete', 'revoke'],
  add: ['create', 'request'],
  create: ['add', 'request'],
}

/** Suggestion for a word that other tools have; undefined for any other. */
export const pointToCommand = (
  word: string,
  path: string,
  verbs: readonly string[],
): string | undefined => {
  if (!path.includes(' ')) return Object.hasOwn(AT_START, word) ? AT_START[word] : undefined
  const known = Object.hasOwn(IN_GROUP, word) ? IN_GROUP[word] : undefined
  const verb = known?.find(each => verbs.includes(each))
  return verb === undefined ? undefined : `${path} ${verb} does this`
}
