import { compareTasks, isOverdue, nameOf, type Priority, type State, type Task, type User } from './model'

export interface Query {
  text?: string
  states: State[]
  priority?: Priority
  assigneeId?: number
  limit: number
}

export interface Page<T> {
  items: T[]
  total: number
  next: number | null
}

export type Predicate<T> = (value: T) => boolean

export const EVERYTHING: Query = { states: ['todo', 'doing', 'done'], limit: 50 }

export function both<T> (first: Predicate<T>, second: Predicate<T>): Predicate<T> {
  return value => first(value) && second(value)
}

export function toPredicate (query: Query): Predicate<Task> {
  const words = (query.text ?? '').toLowerCase().split(' ').filter(word => word.length > 0)
  const byText: Predicate<Task> = task => words.every(word => task.title.toLowerCase().includes(word))
  const byState: Predicate<Task> = task => query.states.includes(task.state)
  const byRest: Predicate<Task> = task =>
    (query.priority === undefined || task.priority === query.priority) &&
    (query.assigneeId === undefined || task.assignee?.id === query.assigneeId)
  return both(both(byText, byState), byRest)
}

export function paginate<T> (items: readonly T[], start: number, limit: number): Page<T> {
  const end = start + limit
  return { items: items.slice(start, end), total: items.length, next: end < items.length ? end : null }
}

export function run (tasks: readonly Task[], query: Query, start: number = 0): Page<Task> {
  const found = tasks.filter(toPredicate(query)).sort(compareTasks)
  return paginate(found, start, query.limit)
}

export function parseStates (text: string): State[] {
  const known: readonly State[] = EVERYTHING.states
  return text.split(',').flatMap(word => {
    const state = known.find(one => one === word.trim())
    return state === undefined ? [] : [state]
  })
}

export function groupBy<K, V> (values: Iterable<V>, key: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>()
  for (const value of values) {
    const name = key(value)
    const group = groups.get(name)
    if (group) {
      group.push(value)
    } else {
      groups.set(name, [value])
    }
  }
  return groups
}

export function overdueByUser (tasks: readonly Task[], now: Date): Map<string, number> {
  const counts = new Map<string, number>()
  const late = tasks.filter(task => isOverdue(task, now))
  for (const [user, group] of groupBy(late, task => task.assignee)) {
    counts.set(user ? nameOf(user) : 'nobody', group.length)
  }
  return counts
}

export function members (users: readonly User[], team: string): string[] {
  return users.filter(user => user.teams.includes(team)).map(user => nameOf(user)).sort()
}
