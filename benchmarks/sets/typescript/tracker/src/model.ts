export type Priority = 'low' | 'normal' | 'high'
export type State = 'todo' | 'doing' | 'done'

export interface User {
  id: number
  login: string
  displayName: string | null
  teams: string[]
}

export interface Task {
  id: number
  title: string
  state: State
  priority: Priority
  assignee?: User
  due?: Date
  labels: Set<string>
  subtasks: Task[]
}

export type TaskDraft = Pick<Task, 'title' | 'priority'> & Partial<Pick<Task, 'assignee' | 'due'>>

export type Event =
  | { kind: 'created'; task: Task; at: Date }
  | { kind: 'moved'; taskId: number; from: State; to: State; at: Date }
  | { kind: 'assigned'; taskId: number; user: User; at: Date }

export function createTask (id: number, draft: TaskDraft): Task {
  return {
    id,
    title: draft.title,
    state: 'todo',
    priority: draft.priority,
    assignee: draft.assignee,
    due: draft.due,
    labels: new Set(),
    subtasks: []
  }
}

export function nameOf (user: User): string {
  return user.displayName ?? user.login
}

export function isOverdue (task: Task, now: Date): boolean {
  return task.state !== 'done' && task.due !== undefined && task.due < now
}

export function countTasks (task: Task): number {
  return task.subtasks.reduce((sum, one) => sum + countTasks(one), 1)
}

export function describe (event: Event): string {
  switch (event.kind) {
    case 'created':
      return `created ${event.task.title}`
    case 'moved':
      return `moved ${event.taskId} from ${event.from} to ${event.to}`
    case 'assigned':
      return `assigned ${event.taskId} to ${nameOf(event.user)}`
  }
}

export function compareTasks (a: Task, b: Task): number {
  const order: Record<Priority, number> = { high: 0, normal: 1, low: 2 }
  const byPriority = order[a.priority] - order[b.priority]
  return byPriority !== 0 ? byPriority : a.title.localeCompare(b.title)
}
