/** Generated from the server's OpenAPI document by `make types`: do not edit. */

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Acknowledged
         * @description The client has received everything up to this cursor.
         */
        Acknowledged: {
            cursor: string;
        };
        /**
         * Actions
         * @description Open cards, the oldest first, each with the actions that you can take.
         */
        Actions: {
            cards: components["schemas"]["CardView"][];
        };
        /** ActionsTab */
        ActionsTab: {
            data: components["schemas"]["Actions"];
            /**
             * @default actions
             * @enum {unknown}
             */
            tab: "actions";
            updated_at?: null;
            updated_by?: null;
            version?: null;
        };
        /** AmendmentView */
        AmendmentView: {
            amount: components["schemas"]["MoneyView"];
            card_id: string;
            created_at: string;
            id: string;
            items: Record<string, unknown>[];
            /** @enum {unknown} */
            kind: "expense" | "extras" | "overtime";
            receipt?: components["schemas"]["FileView"] | null;
            /** @enum {unknown} */
            state: "booked" | "failed" | "paid" | "pending" | "void";
            title: string;
        };
        /**
         * AttachmentsView
         * @description `next_cursor` is for `GET /v1/threads/{id}/files`.
         */
        AttachmentsView: {
            items: components["schemas"]["FileView"][];
            next_cursor: string | null;
        };
        /**
         * AttachmentView
         * @description A file of a message: `kind` is `preview` for a stored file. `thumb` is the address of the
         *         smallest rendition that the viewer may see.
         */
        AttachmentView: {
            bytes: number;
            file: components["schemas"]["FileView"];
            file_id: string;
            height: number | null;
            /** @enum {unknown} */
            kind: "manifest" | "preview";
            mime: string;
            name: string;
            sha256: string | null;
            thumb: string | null;
            width: number | null;
        };
        /** BlocksAnswer */
        BlocksAnswer: {
            items: components["schemas"]["BlockView"][];
            next_cursor: string | null;
        };
        /**
         * BlockView
         * @description A user whom you have blocked.
         */
        BlockView: {
            avatar_url: string | null;
            created_at: string;
            display_name: string;
            user_id: string;
        };
        /** BookingAndThread */
        BookingAndThread: {
            booking: components["schemas"]["BookingView"];
            thread: components["schemas"]["ThreadView"] | null;
        };
        /** BookingList */
        BookingList: {
            items: components["schemas"]["BookingView"][];
            next_cursor: string | null;
        };
        /** BookingOnly */
        BookingOnly: {
            booking: components["schemas"]["BookingView"];
        };
        /**
         * BookingRefView
         * @description A booking of the thread: its group, or one of its legs.
         */
        BookingRefView: {
            group_id: string | null;
            leg_id: string | null;
        };
        /** BookingView */
        BookingView: {
            buyer: string;
            cancellation_policy: components["schemas"]["TierView"][];
            confirmation: string | null;
            created_at: string;
            currency: string;
            failure_code: string | null;
            id: string;
            legs: components["schemas"]["LegView"][];
            /** @enum {unknown} */
            state: "cancelled" | "confirmed" | "confirming" | "proposed";
            sums: components["schemas"]["SumsView"];
            thread_id: string | null;
            total: components["schemas"]["MoneyView"];
            updated_at: string;
        };
        /** CalendarOnly */
        CalendarOnly: {
            calendar: components["schemas"]["CalendarView"];
        };
        /**
         * CalendarView
         * @description `url` is secret: everybody who has it sees the times and titles of your bookings.
         */
        CalendarView: {
            url: string;
        };
        /**
         * Cancellation
         * @description `by`: who cancels. For the buyer the refund follows the policy; for the seller, or if nobody
         *         is named, everything is refunded.
         */
        Cancellation: {
            by?: ("buyer" | "seller") | null;
        };
        /**
         * CardActionView
         * @description An action that the viewer can take on a card now. `input` is the JSON Schema of its input.
         */
        CardActionView: {
            action: string;
            input: Record<string, unknown> | null;
            label: string;
            /** @enum {unknown} */
            style: "danger" | "primary" | "secondary";
        };
        /** CardLabels */
        CardLabels: {
            state: string;
            title: string;
        };
        /** CardMade */
        CardMade: {
            card: components["schemas"]["CardView"];
            message: components["schemas"]["MessageView"];
        };
        /**
         * CardOfferView
         * @description A type of card that you can create here now. `leg_ids`: the legs that it can be about.
         */
        CardOfferView: {
            leg_ids: string[];
            type: string;
        };
        /** CardOnly */
        CardOnly: {
            card: components["schemas"]["CardView"];
        };
        /** CardPage */
        CardPage: {
            card: components["schemas"]["CardView"];
            history: components["schemas"]["HistoryView"][];
        };
        /**
         * CardTypeView
         * @description `outlives`: the ends of a leg after which such cards can be created and stay open; after
         *         other ends they are closed, in a state that says why. `create_rules`: what else must hold.
         */
        CardTypeView: {
            create: string[];
            create_rules: string[];
            document: boolean;
            erases_payload: boolean;
            initial: string;
            menu: components["schemas"]["MenuView"];
            needs_leg: boolean;
            outlives: ("cancelled" | "completed" | "disputed")[];
            payload: Record<string, unknown>;
            states: components["schemas"]["StateView"][];
            threads: string[];
            timers: components["schemas"]["TimerView"][];
            title: string;
            transitions: components["schemas"]["TransitionView"][];
            type: string;
        };
        /**
         * CardView
         * @description A card as it is now. `message_id` is null until its message is in the thread. `files` has
         *         the files that it shows, as the viewer may see them.
         */
        CardView: {
            answers_card: string | null;
            available_actions: components["schemas"]["CardActionView"][];
            buyer: string | null;
            created_at: string;
            created_by: string;
            expires_at: string | null;
            files?: components["schemas"]["FileView"][] | null;
            group_id: string | null;
            id: string;
            labels?: components["schemas"]["CardLabels"] | null;
            leg_id: string | null;
            message_id: string | null;
            payload: Record<string, unknown>;
            seller: string | null;
            signers?: Record<string, unknown>[] | null;
            state: string;
            thread_id: string;
            totals: Record<string, unknown>;
            type: string;
            updated_at: string;
            version: number;
            waits_for: string[];
        };
        /** CatalogueView */
        CatalogueView: {
            items: components["schemas"]["CardTypeView"][];
            locale: string;
        };
        /** ConfirmationOnly */
        ConfirmationOnly: {
            confirmation: components["schemas"]["ConfirmationView"];
        };
        /**
         * ConfirmationView
         * @description With Stripe.js: `stripe.confirmCardPayment(client_secret, {payment_method})`. `url` is the
         *         marketplace's page that does so, if one is configured.
         */
        ConfirmationView: {
            client_secret: string;
            payment_id: string;
            payment_method: string | null;
            /** @enum {unknown} */
            provider: "stripe";
            url: string | null;
        };
        /**
         * ContactPreferences
         * @description Who may write to you first. A later version adds choices.
         */
        ContactPreferences: Record<string, unknown>;
        /** DeliveryList */
        DeliveryList: {
            items: components["schemas"]["WebhookDeliveryView"][];
            next_cursor: string | null;
        };
        /** DeliveryOnly */
        DeliveryOnly: {
            delivery: components["schemas"]["WebhookDeliveryView"];
        };
        /**
         * DeliveryView
         * @description A `deliverable` card that shows a manifest.
         */
        DeliveryView: {
            card_id: string;
            message_id: string | null;
            state: string;
        };
        /** DepositView */
        DepositView: {
            amount: components["schemas"]["MoneyView"];
            captured: components["schemas"]["MoneyView"];
            id: string | null;
            state: ("captured" | "failed" | "held" | "pending" | "released") | "none";
        };
        /** DeskFileOnly */
        DeskFileOnly: {
            file: components["schemas"]["DeskFileView"];
        };
        /** DeskFilesAnswer */
        DeskFilesAnswer: {
            items: components["schemas"]["DeskFileView"][];
            next_cursor: string | null;
        };
        /**
         * DeskFileView
         * @description A file as operators see it.
         */
        DeskFileView: {
            band: number | null;
            bytes: number;
            created_at: string;
            id: string;
            /** @enum {unknown} */
            media: "audio" | "image" | "other" | "pdf" | "video";
            mime: string;
            name: string;
            owner_id: string;
            reason: string | null;
            sha256: string | null;
            /** @enum {unknown} */
            state: "expired" | "processing" | "quarantined" | "ready" | "refused" | "uploading";
            thread_id: string | null;
        };
        /**
         * DeskReason
         * @description Why; it is recorded with your id.
         */
        DeskReason: {
            reason: string;
        };
        /** DisputeList */
        DisputeList: {
            items: components["schemas"]["DisputeView"][];
            next_cursor: string | null;
        };
        /**
         * DisputeView
         * @description `leg_id` is null if the charge was for all legs of the booking.
         */
        DisputeView: {
            amount: components["schemas"]["MoneyView"];
            booking_id: string;
            closed_at: string | null;
            id: string;
            leg_id: string | null;
            opened_at: string;
            payment_id: string;
            reason: string;
            /** @enum {unknown} */
            state: "lost" | "open" | "won";
        };
        /** Docs */
        Docs: {
            documents: components["schemas"]["DocumentRowView"][];
        };
        /** DocsTab */
        DocsTab: {
            data: components["schemas"]["Docs"];
            /**
             * @default docs
             * @enum {unknown}
             */
            tab: "docs";
            updated_at?: null;
            updated_by?: null;
            version?: null;
        };
        /**
         * DocumentDraft
         * @description `sha256` is the hash of the file. The signers must be parties of the booking.
         */
        DocumentDraft: {
            bytes?: number | null;
            leg_id?: string | null;
            /** @description 64 hexadecimal digits. */
            sha256: string;
            signers: string[];
            title: string;
            url?: string | null;
        };
        /** DocumentOnly */
        DocumentOnly: {
            document: components["schemas"]["DocumentView"];
        };
        /**
         * DocumentRowView
         * @description `card_id`: its open `sign` card. `can_ask`: there is none and a signature is missing, so that
         *         a party may create one.
         */
        DocumentRowView: {
            bytes: number | null;
            can_ask: boolean;
            card_id: string | null;
            created_at: string;
            id: string;
            leg_id: string | null;
            sha256: string;
            signers: components["schemas"]["SignerView"][];
            /** @enum {unknown} */
            state: "declined" | "expired" | "partly_signed" | "pending" | "signed";
            title: string;
            url: string | null;
        };
        /** DocumentView */
        DocumentView: {
            booking_id: string;
            bytes: number | null;
            created_at: string;
            id: string;
            leg_id: string | null;
            sha256: string;
            signers: components["schemas"]["SignerView"][];
            /** @enum {unknown} */
            state: "declined" | "expired" | "partly_signed" | "pending" | "signed";
            title: string;
            updated_at: string;
            url: string | null;
        };
        /** Event */
        Event: {
            data: components["schemas"]["EventData"];
            id: string;
            type: string;
        };
        /** EventData */
        EventData: {
            object: Record<string, unknown>;
        };
        /** EventTaken */
        EventTaken: {
            received: boolean;
        };
        /**
         * EventType
         * @enum {unknown}
         */
        EventType: "card.changed" | "file.changed" | "inbox.changed" | "message.deleted" | "message.edited" | "message.new" | "receipt" | "reset" | "thread.changed";
        /**
         * EventView
         * @description One change. The field named after what changed has its complete current value, as the viewer
         *         may see it. For `card.changed` that is `card`, whose `message_id` is the message that shows it.
         *         For `file.changed` it is `file`, and `message_id` is the message that shows it; without one, the
         *         file is the viewer's own and not sent yet.
         *
         *         `thread.changed` without a `thread` means that the viewer is no longer in it.
         */
        EventView: {
            at: string;
            card?: components["schemas"]["CardView"] | null;
            cursor: string;
            file?: components["schemas"]["FileView"] | null;
            inbox?: components["schemas"]["InboxView"] | null;
            message?: components["schemas"]["MessageView"] | null;
            message_id?: string | null;
            receipt?: components["schemas"]["ReceiptView"] | null;
            thread?: components["schemas"]["ThreadView"] | null;
            thread_id?: string | null;
            type: components["schemas"]["EventType"];
        };
        /**
         * Expenses
         * @description The money of the thread's booking. `sums` is null and `legs` is empty if there is none.
         */
        Expenses: {
            legs: components["schemas"]["LegExpensesView"][];
            sums: components["schemas"]["SumsView"] | null;
        };
        /** ExpensesTab */
        ExpensesTab: {
            data: components["schemas"]["Expenses"];
            /**
             * @default expenses
             * @enum {unknown}
             */
            tab: "expenses";
            updated_at?: null;
            updated_by?: null;
            version?: null;
        };
        /**
         * FileEdit
         * @description `alt` describes the picture for people who do not see it; null or empty removes it.
         */
        FileEdit: {
            alt: string | null;
        };
        /** FileOnly */
        FileOnly: {
            file: components["schemas"]["FileView"];
        };
        /** FilesAnswer */
        FilesAnswer: {
            items: components["schemas"]["FileView"][];
            next_cursor: string | null;
        };
        /**
         * FilesData
         * @description The newest 20 of `proofs` and of `finals`, and the first page of the files that were sent
         *         with messages; the newest first. Each file as you may see it.
         */
        FilesData: {
            attachments: components["schemas"]["AttachmentsView"];
            finals: components["schemas"]["FinalsView"][];
            proofs: components["schemas"]["ProofsView"][];
        };
        /** FilesTab */
        FilesTab: {
            data: components["schemas"]["FilesData"];
            /**
             * @default files
             * @enum {unknown}
             */
            tab: "files";
            updated_at?: null;
            updated_by?: null;
            version?: null;
        };
        /**
         * FileSummaryView
         * @description The files of a message: how many, and of which kind; `other` if of several kinds.
         */
        FileSummaryView: {
            count: number;
            /** @enum {unknown} */
            media: "audio" | "image" | "other" | "pdf" | "video";
        };
        /**
         * FileView
         * @description A file as the viewer may see it now.
         *
         *         `reason` says why a file was refused or quarantined; only its owner gets one. `visibility` is
         *         what Safe-Mode allows: `blurred` has the blurred rendition only, `hidden` has none. `can_reveal`
         *         says that `POST /v1/files/{id}/reveal` would show it.
         */
        FileView: {
            alt: string | null;
            band: number | null;
            bytes: number;
            can_reveal: boolean;
            created_at: string;
            duration_ms: number | null;
            expires_at: string | null;
            height: number | null;
            id: string;
            /** @enum {unknown} */
            media: "audio" | "image" | "other" | "pdf" | "video";
            mime: string;
            name: string;
            owner_id: string;
            peaks: number[] | null;
            reason: string | null;
            renditions: components["schemas"]["RenditionView"][];
            sha256: string | null;
            /** @enum {unknown} */
            state: "expired" | "processing" | "quarantined" | "ready" | "refused" | "uploading";
            thread_id: string | null;
            /** @enum {unknown} */
            visibility: "blurred" | "clear" | "hidden";
            width: number | null;
        };
        /**
         * FinalsView
         * @description A manifest, and the cards that deliver it, the newest first.
         */
        FinalsView: {
            cards: components["schemas"]["DeliveryView"][];
            manifest: components["schemas"]["ManifestView"];
        };
        /**
         * FirstMessage
         * @description Without files, which are uploaded for a thread that exists: send them next.
         */
        FirstMessage: {
            /** @description At most `body_characters` of `GET /v1/limits`; a subset of Markdown. Never cut: refused. */
            body: string;
            /** @description Your own id for this send, at most `client_id_characters` of `GET /v1/limits`; a repeat returns the first. */
            client_id: string;
        };
        /** Health */
        Health: {
            status: string;
        };
        /**
         * HistoryView
         * @description One transition; the first has no `from`. `actor` is null if the server acted.
         */
        HistoryView: {
            act: string;
            actor: string | null;
            at: string;
            from: string | null;
            role: string;
            to: string;
            version: number;
        };
        /** InboxAnswer */
        InboxAnswer: {
            counts: components["schemas"]["InboxCounts"];
            items: components["schemas"]["ThreadItem"][];
            next_cursor: string | null;
            sync_cursor: string;
        };
        /**
         * InboxCounts
         * @description Threads with something unread, per folder; `action` counts those where something waits for
         *         you, whether or not you have read it.
         */
        InboxCounts: {
            action: number;
            all: number;
            archived: number;
            bookings: number;
            offers: number;
            requests: number;
            spam: number;
        };
        /**
         * InboxEdit
         * @description Fields that are left out stay as they are. `muted_until` takes a time up to the year 9999, or
         *         null to unmute.
         */
        InboxEdit: {
            archived?: boolean;
            muted_until?: string | null;
            pinned?: boolean;
            starred?: boolean;
        };
        /** InboxOnly */
        InboxOnly: {
            inbox: components["schemas"]["InboxView"];
        };
        /**
         * InboxView
         * @description The viewer's own row for a thread; `state` is the thread's state for them.
         */
        InboxView: {
            badges: ("action" | "booking" | "muted")[];
            has_files: boolean;
            last_message: components["schemas"]["LastMessageView"] | null;
            last_message_at: string | null;
            last_read: components["schemas"]["ReadMarkView"] | null;
            last_sender_id: string | null;
            muted_until: string | null;
            needs_action: boolean;
            pinned: boolean;
            /** @enum {unknown} */
            placement: "archived" | "inbox" | "requests" | "spam";
            starred: boolean;
            /** @enum {unknown} */
            state: "archived" | "awaiting_reply" | "completed" | "confirmed" | "disputed" | "open" | "pending_decision";
            thread_id: string;
            unread_count: number;
        };
        /** JobOnly */
        JobOnly: {
            job: components["schemas"]["JobView"];
        };
        /**
         * JobParticipants
         * @description The only people who may talk in this job.
         */
        JobParticipants: {
            participants: string[];
        };
        /** JobView */
        JobView: {
            job_id: string;
            participants: string[];
        };
        /**
         * LastMessageView
         * @description `preview` is empty for files without a caption: clients say what `files` has.
         */
        LastMessageView: {
            author_id: string | null;
            card_type?: string | null;
            created_at: string;
            deleted_at: string | null;
            files?: components["schemas"]["FileSummaryView"] | null;
            id: string;
            /** @enum {unknown} */
            kind: "asset" | "card" | "system" | "text";
            preview: string;
            system: components["schemas"]["SystemNotice"] | null;
        };
        /** LegDepositView */
        LegDepositView: {
            amount: components["schemas"]["MoneyView"];
            captured: components["schemas"]["MoneyView"];
            held: components["schemas"]["MoneyView"];
            id: string;
            /** @enum {unknown} */
            state: "captured" | "failed" | "held" | "pending" | "released";
        };
        /** LegExpensesView */
        LegExpensesView: {
            amendments: components["schemas"]["AmendmentView"][];
            deposit: components["schemas"]["LegDepositView"] | null;
            /** @enum {unknown} */
            kind: "studio" | "talent";
            leg_id: string;
            /** @enum {unknown} */
            payout: "failed" | "held" | "none" | "paid" | "queued";
            price: components["schemas"]["MoneyView"];
            receipts: components["schemas"]["MoneyReceiptView"][];
            refunds: components["schemas"]["RefundView"][];
            /** @enum {unknown} */
            state: "cancelled" | "completed" | "confirmed" | "disputed" | "in_progress" | "proposed";
            sums: components["schemas"]["SumsView"];
            title: string;
        };
        /** LegView */
        LegView: {
            cancellation_quote: components["schemas"]["QuoteView"] | null;
            deliverables_accepted_at: string | null;
            deposit: components["schemas"]["DepositView"] | null;
            end: string;
            id: string;
            /** @enum {unknown} */
            kind: "studio" | "talent";
            /** @enum {unknown} */
            payout: "failed" | "held" | "none" | "paid" | "queued";
            price: components["schemas"]["MoneyView"];
            seller: string;
            start: string;
            /** @enum {unknown} */
            state: "cancelled" | "completed" | "confirmed" | "disputed" | "in_progress" | "proposed";
            sums: components["schemas"]["SumsView"];
            timezone: string;
            title: string;
            version: number;
        };
        /** LimitsOnly */
        LimitsOnly: {
            limits: components["schemas"]["LimitsView"];
        };
        /** LimitsView */
        LimitsView: {
            /** @description Longest description of a file, in characters. */
            alt_characters: number;
            /** @description Most files of one message. */
            attachments: number;
            /** @description Longest message, in characters. */
            body_characters: number;
            /** @description Cards that one person may make or act on per minute. */
            cards_per_minute: number;
            /** @description Longest `client_id` of a send, in characters. */
            client_id_characters: number;
            /** @description Most people in a thread that still shows who has received a message. */
            delivery_shown_participants: number;
            /** @description Seconds in which a message can be edited. */
            edit_window_s: number;
            /** @description Longest key of your own that names a thread, in characters. */
            external_key_characters: number;
            /** @description Largest file, in bytes. */
            file_bytes: number;
            /** @description Longest name of a file, in characters; longer ones are shortened. */
            file_name_characters: number;
            /** @description Largest frame that a WebSocket client may send, in bytes. */
            frame_bytes: number;
            /** @description Seconds' worth of frames that a WebSocket client may send at once. */
            frames_ahead_s: number;
            /** @description Frames that a WebSocket client may send per second. */
            frames_per_s: number;
            /** @description Longest `Idempotency-Key`, in characters. */
            idempotency_key_characters: number;
            /** @description Most pixels of a picture. */
            image_pixels: number;
            /** @description Longest side of a picture, in pixels. */
            image_side: number;
            /** @description Longest `role_context`, `job_id`, `group_id` or `leg_id`, in characters. */
            label_characters: number;
            /** @description Longest `listing_key` of a thread, in characters. */
            listing_key_characters: number;
            /** @description Most messages of one answer. */
            messages_page: number;
            /** @description Most open cards in a thread. */
            open_cards: number;
            /** @description Most items of any other list in one answer. */
            page: number;
            /** @description Bytes of each part of an upload but the last. */
            part_bytes: number;
            /** @description Most people in a thread. */
            participants: number;
            /** @description Largest body of a request, in bytes. */
            request_bytes: number;
            /** @description Longest text to search the inbox for, in characters. */
            search_characters: number;
            /** @description Messages that one person may send per minute. */
            sends_per_minute: number;
            /** @description Conversations that an unverified person may start per day. */
            starts_per_day: number;
            /** @description Conversations that an unverified person may start per hour. */
            starts_per_hour: number;
            /** @description Most open streams of one person; the oldest is closed for a new one. */
            streams_per_user: number;
            /** @description Longest subject of a thread, in characters. */
            subject_characters: number;
            /** @description Longest `wait` of a long-poll, in seconds. */
            sync_wait_s: number;
            /** @description Seconds after which somebody no longer types. */
            typing_s: number;
            /** @description Conversations that a verified person may start per day. */
            verified_starts_per_day: number;
            /** @description Conversations that a verified person may start per hour. */
            verified_starts_per_hour: number;
            /** @description Longest video, in seconds. */
            video_s: number;
            /** @description Longest voice note, in seconds. */
            voice_s: number;
            /** @description Most threads that a stream watches for typing and presence. */
            watched_threads: number;
        };
        /** ManifestItem */
        ManifestItem: {
            bytes: number;
            name: string;
            /** @description 64 hexadecimal digits. */
            sha256: string;
            /** @description https, of a public host, at most 2048 characters. */
            url: string;
        };
        /** ManifestList */
        ManifestList: {
            items: components["schemas"]["ManifestView"][];
            next_cursor: string | null;
        };
        /** ManifestOnly */
        ManifestOnly: {
            manifest: components["schemas"]["ManifestView"];
        };
        /**
         * ManifestView
         * @description `sha256` is the hash of `items` as JSON with sorted names and without spaces.
         */
        ManifestView: {
            booking_id: string | null;
            created_at: string;
            created_by: string;
            id: string;
            items: components["schemas"]["ManifestItem"][];
            leg_id: string | null;
            sha256: string;
            thread_id: string;
        };
        /**
         * MenuView
         * @description How to present the type in a list of cards to create: `offer` is the label, `about` explains
         *         it, and `likely` names the states of a booking in which it should be among the first.
         */
        MenuView: {
            about: string;
            /** @enum {unknown} */
            group: "delivery" | "money" | "other" | "problems" | "time";
            likely: ("cancelled" | "completed" | "confirmed" | "disputed" | "in_progress" | "proposed" | "unbooked")[];
            offer: string;
        };
        /** MessageEdit */
        MessageEdit: {
            /** @description At most `body_characters` of `GET /v1/limits`; a subset of Markdown. Never cut: refused. */
            body: string;
        };
        /** MessageOnly */
        MessageOnly: {
            message: components["schemas"]["MessageView"];
        };
        /**
         * MessagesAnswer
         * @description `sync_cursor` is left out for your backend, which has no feed.
         */
        MessagesAnswer: {
            has_more: boolean;
            items: components["schemas"]["MessageView"][];
            sync_cursor?: string;
        };
        /**
         * MessageView
         * @description A message. Only its author sees `client_id`. A deleted message keeps its place, with an empty
         *         body and without its files.
         *
         *         A card can be accepted before its message is in the thread: until then `id` and `seq` are null.
         */
        MessageView: {
            attachments: components["schemas"]["AttachmentView"][];
            author_id: string | null;
            body: string;
            body_html: string;
            card?: components["schemas"]["CardView"] | null;
            client_id?: string;
            created_at: string;
            deleted_at: string | null;
            edited_at: string | null;
            id: string | null;
            /** @enum {unknown} */
            kind: "asset" | "card" | "system" | "text";
            reply_to: string | null;
            seq: number | null;
            system: components["schemas"]["SystemNotice"] | null;
            thread_id: string;
        };
        /**
         * MoneyReceiptView
         * @description A movement of money, with its id here (`entry_id`, `payment_id`) and at the payment provider
         *         (`provider_id`). `is_undo`: as in a refund.
         */
        MoneyReceiptView: {
            amount: components["schemas"]["MoneyView"];
            at: string;
            card_id: string | null;
            entry_id: string;
            is_undo: boolean;
            /** @enum {unknown} */
            kind: "capture" | "charge" | "hold" | "payout.paid" | "payout.released" | "payout.returned" | "refund" | "release";
            payment_id: string | null;
            provider_id: string | null;
        };
        /** MoneyView */
        MoneyView: {
            amount_cents: number;
            currency: string;
        };
        /** NewAttachment */
        NewAttachment: {
            /** @description A completed upload of yours for this thread. */
            file_id: string;
        };
        /** NewBlock */
        NewBlock: {
            user_id: string;
        };
        /**
         * NewBooking
         * @description Without `thread_id` a thread of the buyer with the sellers is opened. Without `cancellation`
         *         the server's default policy applies.
         */
        NewBooking: {
            buyer: string;
            cancellation?: components["schemas"]["TierView"][] | null;
            /** @description ISO 4217, such as EUR. */
            currency: string;
            legs: components["schemas"]["NewLeg"][];
            thread_id?: string | null;
        };
        /**
         * NewCard
         * @description `payload` must match the type's schema in the catalogue. The server computes the totals.
         */
        NewCard: {
            payload: Record<string, unknown>;
            type: string;
        };
        /** NewLeg */
        NewLeg: {
            /**
             * @description Whole cents.
             * @default 0
             */
            deposit_cents: number;
            /** @description RFC 3339 with an offset. */
            end: string;
            /**
             * @default talent
             * @enum {unknown}
             */
            kind: "studio" | "talent";
            /** @description Whole cents. */
            price_cents: number;
            seller: string;
            /** @description RFC 3339 with an offset. */
            start: string;
            /** @description IANA, such as Europe/Vienna. */
            timezone: string;
            /** @description One line of at most 200 characters. */
            title: string;
        };
        /**
         * NewManifest
         * @description 1 to 500 files that are stored elsewhere; the server never fetches them. `leg_id` is needed
         *         if the project has several legs.
         */
        NewManifest: {
            items: components["schemas"]["ManifestItem"][];
            leg_id?: string | null;
        };
        /**
         * NewMessage
         * @description `client_id` is the sender's own id for this send: a repeat returns the first message. `body`
         *         may be empty or left out when there are `attachments`.
         */
        NewMessage: {
            /**
             * @description At most `attachments` of `GET /v1/limits`.
             * @default []
             */
            attachments: components["schemas"]["NewAttachment"][];
            /**
             * @description At most `body_characters` of `GET /v1/limits`; a subset of Markdown. Never cut: refused.
             * @default
             */
            body: string;
            /** @description Your own id for this send, at most `client_id_characters` of `GET /v1/limits`; a repeat returns the first. */
            client_id: string;
            reply_to?: string | null;
        };
        /**
         * NewNotice
         * @description `code` is for programs, `text` for people: a subset of Markdown, at most `body_characters`
         *         of `GET /v1/limits`.
         */
        NewNotice: {
            code: string;
            text: string;
        };
        /** NewParticipant */
        NewParticipant: {
            /** @enum {unknown} */
            role: "admin" | "buyer" | "host" | "seller" | "support";
            user_id: string;
        };
        /**
         * NewThread
         * @description `to` is one user id or several. `listing_key` is allowed with one recipient: your
         *         marketplace's own key of what this is about. If the opener already started a
         *         thread with this person under the same key and both are still in it, the message is added to
         *         that thread and the other fields are ignored.
         */
        NewThread: {
            first_message: components["schemas"]["FirstMessage"];
            job_id?: string | null;
            /** @enum {unknown} */
            kind: "inquiry" | "invite";
            listing_key?: string | null;
            role_context?: string | null;
            subject?: string | null;
            to: string | string[];
        };
        /**
         * NewUpload
         * @description The file that will be uploaded. `parts` splits it into parts of `part_bytes`, which can be
         *         sent and repeated one by one. `watermark` is a text across the previews of a proof.
         *
         *         `width` and `height` of a picture or video, `duration_ms` and `peaks` of a voice note are what
         *         your device knows of it. Viewers get them until the server has measured the content, and
         *         afterwards where it could not.
         */
        NewUpload: {
            /** @description At most `file_bytes` of `GET /v1/limits`. */
            bytes: number;
            duration_ms?: number | null;
            height?: number | null;
            /** @description A type such as image/jpeg. */
            mime: string;
            name: string;
            /** @default false */
            parts: boolean;
            /** @description The wave form: up to 64 numbers, 0 to 100. */
            peaks?: number[] | null;
            /**
             * @default attachment
             * @enum {unknown}
             */
            purpose: "attachment" | "moodboard" | "proof" | "receipt" | "voice";
            /** @description In hexadecimal; checked when the upload is completed. */
            sha256?: string | null;
            thread_id: string;
            watermark?: string | null;
            width?: number | null;
        };
        /**
         * NewWebhook
         * @description `events`: names of events, or `["*"]` for all. `include_content`: whether the texts that
         *         people wrote are part of the data.
         */
        NewWebhook: {
            /** @default  */
            description: string;
            events: string[];
            /** @default false */
            include_content: boolean;
            url: string;
        };
        /**
         * NotifyPreferences
         * @description What you are notified of. A later version adds choices.
         */
        NotifyPreferences: Record<string, unknown>;
        /** PanelOnly */
        PanelOnly: {
            panel: components["schemas"]["PanelView"];
        };
        /**
         * PanelView
         * @description The overview of the panel. `leg_id`: the leg that the thread is about, if it is one.
         *         `timers`: coming deadlines, the next first. `can_make`: the cards that you can create now.
         *         `earlier`: at most 20 earlier bookings of the thread that were confirmed, the newest first.
         */
        PanelView: {
            booking: components["schemas"]["BookingView"] | null;
            can_make: components["schemas"]["CardOfferView"][];
            earlier: components["schemas"]["BookingView"][];
            leg_id: string | null;
            tabs: components["schemas"]["TabView"][];
            timers: components["schemas"]["UpcomingView"][];
        };
        /** ParticipantView */
        ParticipantView: {
            avatar_url: string | null;
            display_name: string;
            joined_at: string;
            last_delivered: components["schemas"]["ReadMarkView"] | null;
            last_read: components["schemas"]["ReadMarkView"] | null;
            /** @enum {unknown} */
            role: "admin" | "buyer" | "host" | "seller" | "support";
            /** @enum {unknown} */
            status: "active" | "blocked" | "left";
            user_id: string;
        };
        /**
         * PartView
         * @description A part of an upload: make exactly this request with its bytes, unless it is `received`.
         */
        PartView: {
            bytes: number;
            headers: {
                [key: string]: string;
            };
            method: string;
            number: number;
            received: boolean;
            url: string;
        };
        /**
         * PaymentAccountChanges
         * @description A field that is left out keeps its value, null clears it. With Stripe: `customer` is `cus_…`
         *         and `payment_method` is `pm_…`, both for who pays; `payee` is the connected account `acct_…` of
         *         who is paid.
         */
        PaymentAccountChanges: {
            customer?: string | null;
            payee?: string | null;
            payment_method?: string | null;
        };
        /** PaymentAccountOnly */
        PaymentAccountOnly: {
            payment_account: components["schemas"]["PaymentAccountView"];
        };
        /** PaymentAccountView */
        PaymentAccountView: {
            customer: string | null;
            payee: string | null;
            payment_method: string | null;
            updated_at: string;
            user_id: string;
        };
        /** PaymentList */
        PaymentList: {
            items: components["schemas"]["PaymentView"][];
            next_cursor: string | null;
        };
        /** PaymentOnly */
        PaymentOnly: {
            payment: components["schemas"]["PaymentView"];
        };
        /**
         * PaymentView
         * @description `again`: the id of the payment that repeats this one after it failed.
         */
        PaymentView: {
            account: string;
            again: string | null;
            amount: components["schemas"]["MoneyView"];
            booking_id: string;
            card_id: string | null;
            created_at: string;
            failure_code: string | null;
            id: string;
            leg_id: string | null;
            /** @enum {unknown} */
            operation: "capture" | "charge" | "hold" | "payout" | "refund" | "release";
            /** @enum {unknown} */
            state: "failed" | "queued" | "succeeded";
            updated_at: string;
        };
        /** PersonPresence */
        PersonPresence: {
            online: boolean;
            typing: boolean;
            user_id: string;
        };
        /**
         * PreferenceChanges
         * @description What to change; a field left out keeps its value.
         */
        PreferenceChanges: {
            contact?: components["schemas"]["ContactPreferences"];
            notify?: components["schemas"]["NotifyPreferences"];
            safe_mode?: boolean;
            telemetry?: boolean;
        };
        /**
         * Preferences
         * @description What a person has chosen for themselves. `safe_mode` blurs or hides pictures that are not
         *         safe for everybody; `telemetry` allows measurements of how the app is used.
         */
        Preferences: {
            /** @default {} */
            contact: components["schemas"]["ContactPreferences"];
            /** @default {} */
            notify: components["schemas"]["NotifyPreferences"];
            /** @default true */
            safe_mode: boolean;
            /** @default true */
            telemetry: boolean;
        };
        /** PreferencesEdit */
        PreferencesEdit: {
            preferences: components["schemas"]["PreferenceChanges"];
        };
        /** PreferencesOnly */
        PreferencesOnly: {
            preferences: components["schemas"]["Preferences"];
        };
        /**
         * PresenceAnswer
         * @description All other participants of the thread, ordered by user id.
         */
        PresenceAnswer: {
            items: components["schemas"]["PersonPresence"][];
        };
        /**
         * Problem
         * @description What went wrong, as in RFC 9457.
         */
        Problem: {
            /** @enum {string} */
            code: "ACTION_CONFLICT" | "ACTION_INVALID_STATE" | "ACTION_STALE_VERSION" | "ATTACHMENT_TOO_LARGE" | "CARD_EXPIRED" | "CARD_INVALID" | "EDIT_WINDOW_CLOSED" | "FORBIDDEN" | "IDEMPOTENCY_MISMATCH" | "INTERNAL" | "INVALID_REQUEST" | "MSG_BLOCKED_BY_USER" | "MSG_EMPTY" | "MSG_TOO_LONG" | "NOT_FOUND" | "NOT_IMPLEMENTED" | "PAYLOAD_TOO_LARGE" | "RATE_LIMITED" | "SAFE_MODE_BLOCKED" | "THREAD_LOCKED" | "THREAD_NOT_FOUND" | "THREAD_READ_ONLY" | "UNAUTHENTICATED" | "UNAVAILABLE" | "UNSUPPORTED_TYPE" | "UPLOAD_QUARANTINED" | "USER_NOT_FOUND";
            corr_id: string;
            detail: string;
            hint: string;
            status: number;
            title: string;
            type: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * Promotion
         * @description The booking that the thread is now about: a group or a single leg.
         */
        Promotion: {
            group_id?: string | null;
            leg_id?: string | null;
        };
        /**
         * ProofsView
         * @description The pictures of a `proofs` card in its present round. `selections` are the ids of those that
         *         the buyer has chosen.
         */
        ProofsView: {
            card_id: string;
            created_at: string;
            created_by: string;
            expires_at: string | null;
            files: components["schemas"]["FileView"][];
            leg_id: string | null;
            message_id: string | null;
            round: number;
            selections: string[];
            state: string;
            updated_at: string;
        };
        /**
         * ProviderEvent
         * @description Unknown fields are ignored, because providers add some.
         */
        ProviderEvent: {
            id: string;
            operation: components["schemas"]["ProviderOperation"];
            /** @enum {unknown} */
            type: "operation.failed" | "operation.succeeded";
        };
        /** ProviderOperation */
        ProviderOperation: {
            failure_code?: string | null;
            id: string;
            key: string;
            /** @enum {unknown} */
            status: "failed" | "pending" | "succeeded";
        };
        /** PublicUserOnly */
        PublicUserOnly: {
            user: components["schemas"]["PublicUserView"];
        };
        /**
         * PublicUserView
         * @description What everybody with a token may know of a person.
         */
        PublicUserView: {
            avatar_url: string | null;
            display_name: string;
            roles: string[];
            user_id: string;
            verified: boolean;
        };
        /**
         * QuoteView
         * @description What the buyer would get back by cancelling now.
         */
        QuoteView: {
            notice_hours: number;
            refund: components["schemas"]["MoneyView"];
            refund_percent: number;
        };
        /** ReadMarkView */
        ReadMarkView: {
            at: string;
            message_id: string;
        };
        /** ReadUpTo */
        ReadUpTo: {
            /** @description The id of a message in this thread. */
            up_to: string;
        };
        /** ReceiptView */
        ReceiptView: {
            at: string;
            /** @enum {unknown} */
            kind: "delivered" | "read";
            message_id: string;
            seq: number;
            user_id: string;
        };
        /**
         * RefundView
         * @description `is_undo`: it undoes a payment, for example of a booking that was not confirmed. It counts
         *         neither in `paid` nor in `refunded`.
         */
        RefundView: {
            amount: components["schemas"]["MoneyView"];
            card_id: string | null;
            created_at: string;
            id: string;
            is_undo: boolean;
            /** @enum {unknown} */
            state: "failed" | "queued" | "refunded";
        };
        /**
         * RenditionView
         * @description One form of a file that the viewer may fetch now. The address lives for some minutes.
         */
        RenditionView: {
            height?: number | null;
            /** @enum {unknown} */
            kind: "blurred" | "original" | "poster" | "preview" | "thumb";
            mime: string;
            url: string;
            width?: number | null;
        };
        /** ReplayOnly */
        ReplayOnly: {
            replay: components["schemas"]["ReplayView"];
        };
        /**
         * ReplayRequest
         * @description One of: `event_id`; `since`; `from` and `to`. Times are when the event was logged, soon after
         *         it happened.
         */
        ReplayRequest: {
            event_id?: string | null;
            from?: string | null;
            since?: string | null;
            to?: string | null;
        };
        /**
         * ReplayView
         * @description `events`: how many are posted again. `next_since` is the `since` or `from` of the next call
         *         when there were more than one call takes.
         */
        ReplayView: {
            events: number;
            next_since: string | null;
        };
        /** SamplePeople */
        SamplePeople: {
            items: components["schemas"]["SamplePersonView"][];
        };
        /** SamplePersonView */
        SamplePersonView: {
            avatar_url: string;
            city: string;
            display_name: string;
            role: string;
            timezone: string;
            user_id: string;
        };
        /**
         * SignedIn
         * @description `token` is as your backend would sign it.
         */
        SignedIn: {
            token: string;
            user: components["schemas"]["SamplePersonView"];
        };
        /** SignerView */
        SignerView: {
            at: string | null;
            /** @enum {unknown} */
            state: "declined" | "pending" | "signed";
            user_id: string;
        };
        /** SignIn */
        SignIn: {
            user_id: string;
        };
        /**
         * SimpleConversation
         * @description `unreadCount` has your own count. Between two people it also has the other's, as far as their
         *         read receipts tell: of the 100 messages after the last one they have read.
         */
        SimpleConversation: {
            createdAt: string;
            id: string;
            /** @description A number where the marketplace's id is one. */
            jobId?: number | string;
            lastMessage?: string;
            lastMessageAt?: string;
            participants: string[];
            unreadCount: {
                [key: string]: number;
            };
            updatedAt: string;
        };
        /** SimpleConversations */
        SimpleConversations: {
            conversations: components["schemas"]["SimpleConversation"][];
        };
        /**
         * SimpleMessage
         * @description `id` is `message_{timestamp}_{id}` with the milliseconds of `createdAt`. A deleted message
         *         has an empty `content` and `deleted: true`. `updatedAt` is when it was sent, edited or deleted.
         *         `jobId` is the job that it was sent about. Of several files, which clients of `/v1` can send,
         *         the first is here. `fileUrl` is a fresh address for some minutes; it is left out while the file
         *         is processed, and when the viewer may not see it.
         */
        SimpleMessage: {
            content: string;
            conversationId: string;
            createdAt: string;
            deleted?: boolean;
            fileName?: string;
            fileSize?: number;
            fileUrl?: string;
            id: string;
            /** @description A number where the marketplace's id is one. */
            jobId?: number | string;
            receiverId: string;
            senderId: string;
            /** @enum {unknown} */
            status: "delivered" | "read" | "sent";
            /** @enum {unknown} */
            type: "file" | "image" | "text";
            updatedAt: string;
        };
        /** SimpleMessages */
        SimpleMessages: {
            hasMore: boolean;
            messages: components["schemas"]["SimpleMessage"][];
        };
        /** SimpleRead */
        SimpleRead: {
            /** @description `conv_{a}_{b}` with both user ids sorted, or a thread's `thr_…`. */
            conversationId: string;
        };
        /** SimpleReadAnswer */
        SimpleReadAnswer: {
            conversationId: string;
            unreadCount: {
                [key: string]: number;
            };
        };
        /** SimpleSend */
        SimpleSend: {
            /** @description At most `body_characters` of `GET /v1/limits`. Never cut: refused. */
            content: string;
            /** @description What `uploadFile` answered; with type image or file. */
            fileUrl?: string | null;
            jobId?: (number | string) | null;
            receiverId: string;
            /** @enum {unknown} */
            type: "file" | "image" | "text";
        };
        /** SimpleSent */
        SimpleSent: {
            conversationId: string;
            message: components["schemas"]["SimpleMessage"];
        };
        /**
         * SimpleUpload
         * @description The type and the size in bytes by either name: `fileType` or `contentType`, `fileSize` or
         *         `size`.
         */
        SimpleUpload: {
            contentType?: string | null;
            fileName: string;
            fileSize?: number | null;
            fileType?: string | null;
            size?: number | null;
        };
        /**
         * SimpleUploadAnswer
         * @description Send exactly these bytes to `uploadUrl` with this method and these headers.
         */
        SimpleUploadAnswer: {
            expiresAt: string;
            fileUrl: string;
            headers: {
                [key: string]: string;
            };
            method: string;
            uploadUrl: string;
        };
        /**
         * StateView
         * @description `open`: the card waits for a decision; `turn` says whose.
         */
        StateView: {
            final: boolean;
            label: string;
            open: boolean;
            state: string;
            turn: string[];
        };
        /**
         * SumsView
         * @description Always `agreed = paid + pending + open` and `paid = refunded + kept + paid_out`.
         *         `agreed`: the price and all additions. `pending`: is being charged. `open`: not charged yet.
         *         `failed`: could not be charged; not part of `agreed`. `kept`: paid, neither refunded nor paid
         *         out. `paid_out`: released to the seller. `held`: the deposit on hold.
         */
        SumsView: {
            agreed: components["schemas"]["MoneyView"];
            failed: components["schemas"]["MoneyView"];
            held: components["schemas"]["MoneyView"];
            kept: components["schemas"]["MoneyView"];
            open: components["schemas"]["MoneyView"];
            paid: components["schemas"]["MoneyView"];
            paid_out: components["schemas"]["MoneyView"];
            pending: components["schemas"]["MoneyView"];
            refunded: components["schemas"]["MoneyView"];
        };
        /** SyncAnswer */
        SyncAnswer: {
            cursor: string;
            events: components["schemas"]["EventView"][];
            has_more: boolean;
        };
        /**
         * SystemNotice
         * @description A system message: a code that clients turn into text, and its parameters.
         */
        SystemNotice: {
            code: string;
            params: Record<string, unknown>;
        };
        /**
         * TabView
         * @description `count`: how many items wait there for the viewer; null for tabs in which nothing waits.
         */
        TabView: {
            available: boolean;
            count: number | null;
            /** @enum {unknown} */
            tab: "actions" | "brief" | "docs" | "expenses" | "files" | "moodboard" | "shotlist";
        };
        /**
         * ThreadByKey
         * @description `opened_by` of the thread is the first of `participants`. A thread of kind `system` has one
         *         participant, who reads it and cannot write.
         */
        ThreadByKey: {
            city?: string | null;
            first_notice?: components["schemas"]["NewNotice"] | null;
            job_id?: string | null;
            /** @enum {unknown} */
            kind: "inquiry" | "invite" | "support" | "system";
            participants: components["schemas"]["NewParticipant"][];
            role_context?: string | null;
            /** @default false */
            safe_mode_required: boolean;
            subject?: string | null;
        };
        /**
         * ThreadEdit
         * @description Fields that are left out stay as they are; null clears a text.
         */
        ThreadEdit: {
            city?: string | null;
            role_context?: string | null;
            safe_mode_required?: boolean;
            subject?: string | null;
        };
        /** ThreadItem */
        ThreadItem: {
            inbox: components["schemas"]["InboxView"];
            thread: components["schemas"]["ThreadView"];
        };
        /** ThreadList */
        ThreadList: {
            items: components["schemas"]["ThreadView"][];
            next_cursor: string | null;
        };
        /** ThreadOnly */
        ThreadOnly: {
            thread: components["schemas"]["ThreadView"];
        };
        /**
         * ThreadPage
         * @description Your backend gets `thread` alone: it has no inbox and no feed.
         */
        ThreadPage: {
            inbox?: components["schemas"]["InboxView"];
            sync_cursor?: string;
            thread: components["schemas"]["ThreadView"];
        };
        /**
         * ThreadStarted
         * @description `request` is for message requests, which a later version adds; always null for now.
         */
        ThreadStarted: {
            message: components["schemas"]["MessageView"];
            request?: null;
            thread: components["schemas"]["ThreadView"];
        };
        /**
         * ThreadView
         * @description `group_id` or `leg_id` is the current booking. `bookings` are the earlier ones, all of whose
         *         legs are completed or cancelled, oldest first. `external_key` is your backend's own key of the
         *         thread; only your backend sees it.
         */
        ThreadView: {
            bookings: components["schemas"]["BookingRefView"][];
            city: string | null;
            created_at: string;
            external_key?: string | null;
            group_id: string | null;
            id: string;
            job_id: string | null;
            /** @enum {unknown} */
            kind: "dispute" | "inquiry" | "invite" | "project" | "support" | "system";
            last_message_at: string | null;
            last_sender_id: string | null;
            leg_id: string | null;
            locked: boolean;
            opened_by: string;
            participants: components["schemas"]["ParticipantView"][];
            /** @enum {unknown} */
            request_state: "accepted" | "declined" | "none" | "pending";
            role_context: string | null;
            safe_mode_required: boolean;
            /** @enum {unknown} */
            state: "archived" | "awaiting_reply" | "completed" | "confirmed" | "disputed" | "open" | "pending_decision";
            subject: string | null;
            updated_at: string;
        };
        /** TicketView */
        TicketView: {
            expires_at: string;
            ticket: string;
        };
        /**
         * TierView
         * @description With at least this notice, this part of what was paid is refunded.
         */
        TierView: {
            notice_hours: number;
            refund_percent: number;
        };
        /**
         * TimerView
         * @description Fires after `after` seconds, at the time in the field `at`, or when the booked time begins
         *         (`until_leg_begins`), whichever is first. `counts_from`: the seconds count from the end of the
         *         booked time if that is later.
         */
        TimerView: {
            action: string;
            after: number | null;
            at: string | null;
            counts_from: "leg_end" | null;
            from: string[];
            name: string;
            until_leg_begins: boolean;
        };
        /** TransitionView */
        TransitionView: {
            action: string;
            by: string[];
            effects: string[];
            from: string[];
            guard: string | null;
            input: Record<string, unknown> | null;
            label: string;
            rules: string[];
            /** @enum {unknown} */
            style: "danger" | "primary" | "secondary";
            to: string;
            when: string[];
        };
        /**
         * TypingNow
         * @description Repeat it every few seconds: it ends by itself 10 seconds after the last call.
         */
        TypingNow: {
            on: boolean;
        };
        /**
         * UpcomingView
         * @description A coming deadline. `card_expires` and `review_ends` name the card.
         */
        UpcomingView: {
            at: string;
            card_id: string | null;
            /** @enum {unknown} */
            kind: "card_expires" | "leg_ends" | "leg_starts" | "review_ends";
            leg_id: string | null;
        };
        /** UploadOnly */
        UploadOnly: {
            upload: components["schemas"]["UploadView"];
        };
        /**
         * UploadView
         * @description Make exactly this request with the bytes of the file, before `expires_at`. With `parts`, make
         *         the request of each part instead; they can be repeated one by one on a bad network.
         */
        UploadView: {
            expires_at: string;
            headers: {
                [key: string]: string;
            };
            id: string;
            method: string;
            part_bytes?: number | null;
            parts?: components["schemas"]["PartView"][] | null;
            received: boolean;
            url: string;
        };
        /**
         * UserChanges
         * @description What to change; a field left out keeps its value, null clears it.
         */
        UserChanges: {
            age_verified?: boolean;
            avatar_url?: string | null;
            display_name?: string;
            locale?: string | null;
            roles?: string[];
            timezone?: string | null;
            verified?: boolean;
        };
        /** UserOnly */
        UserOnly: {
            user: components["schemas"]["UserView"];
        };
        /**
         * UserView
         * @description A person. Times are RFC 3339 in UTC with milliseconds.
         */
        UserView: {
            age_verified: boolean;
            avatar_url: string | null;
            created_at: string;
            display_name: string;
            locale: string | null;
            roles: string[];
            timezone: string | null;
            updated_at: string;
            user_id: string;
            verified: boolean;
        };
        /**
         * WebhookDeliveryView
         * @description `status`, `duration_ms`, `error` and `excerpt` are of the last attempt; `excerpt` is the
         *         beginning of an answer that was no success. `next_attempt_at` is null before the first attempt,
         *         also while an earlier event of the same thread is tried, and after the last.
         */
        WebhookDeliveryView: {
            attempts: number;
            duration_ms: number | null;
            error: string | null;
            event_id: string;
            excerpt: string | null;
            id: string;
            last_attempt_at: string | null;
            next_attempt_at: string | null;
            queued_at: string;
            /** @enum {unknown} */
            state: "delivered" | "failed" | "waiting";
            status: number | null;
            thread_id: string | null;
            type: string;
        };
        /**
         * WebhookEdit
         * @description A field that is left out keeps its value.
         */
        WebhookEdit: {
            description?: string;
            enabled?: boolean;
            events?: string[];
            include_content?: boolean;
            url?: string;
        };
        /** WebhookList */
        WebhookList: {
            items: components["schemas"]["WebhookView"][];
        };
        /** WebhookOnly */
        WebhookOnly: {
            webhook: components["schemas"]["WebhookView"];
        };
        /**
         * WebhookView
         * @description `secret` is in the answers of the calls that make it, and null everywhere else.
         *         `previous_secret_until`: until then each delivery has a signature of the secret before, too.
         *         `failing_since`: no delivery has succeeded since.
         */
        WebhookView: {
            created_at: string;
            description: string;
            disabled_at: string | null;
            disabled_reason: ("failing" | "gone" | "manual") | null;
            enabled: boolean;
            events: string[];
            failing_since: string | null;
            id: string;
            include_content: boolean;
            previous_secret_until: string | null;
            secret: string | null;
            secret_version: number;
            url: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
